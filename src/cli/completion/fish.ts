// The script for fish.

import { devices, type Named, quoted, type Tree, type Values, valued } from './tree.ts'

export function fish({ firsts, seconds, commands }: Tree): string {
  const lines = [
    ...firsts.map(({ name, summary }) => offer('__benchd_at 0', `-f -a ${name} -d ${quoted(summary)}`)),
    ...[...seconds].flatMap(([first, its]) =>
      its.map(({ name, summary }) => offer(`__benchd_at 1 ${first}`, `-f -a ${name} -d ${quoted(summary)}`)),
    ),
    ...commands.flatMap((command) => [...optionsOf(command), ...operandsOf(command)]),
  ]
  return `# fish completion of benchd: put it into ~/.config/fish/completions/benchd.fish

# The words before the one that is being completed, without options and their values.
function __benchd_words
    set -l valued ${valued(commands).join(' ')}
    set -l skip no
    for word in (commandline -opc)[2..-1]
        if test $skip = yes
            set skip no
        else if contains -- $word $valued
            set skip yes
        else if not string match -q -- '-*' $word
            echo $word
        end
    end
end

# __benchd_at COUNT WORD…: whether there are so many, and they begin with these. __benchd_in WORD…: only the latter.
function __benchd_at
    set -l words (__benchd_words)
    test (count $words) -eq $argv[1]; and __benchd_in $argv[2..-1]
end

function __benchd_in
    set -l words (__benchd_words)
    set -l many (count $argv)
    test $many -eq 0; and return 0
    test "$words[1..$many]" = "$argv"
end

${lines.join('\n')}
`
}

function optionsOf({ name, options }: Named): string[] {
  return options.map((option) => {
    const value = option.values ? ` ${taking(option.values)}` : ''
    return offer(`__benchd_in ${name}`, `-l ${option.name.slice(2)}${value} -d ${quoted(option.summary)}`)
  })
}

function operandsOf({ name, operands }: Named): string[] {
  const before = name.split(' ').length
  return operands.map((values, i) => offer(`__benchd_at ${before + i} ${name}`, taking(values).replace('-x', '-f').replace('-r ', '')))
}

function offer(condition: string, what: string): string {
  return `complete -c benchd -n ${quoted(condition)} ${what}`
}

function taking(values: Values): string {
  if (values.kind === 'words') return `-x -a ${quoted(values.words.join(' '))}`
  if (values.kind === 'devices') return `-x -a "(${devices})"`
  return { files: '-r -F', folders: "-x -a '(__fish_complete_directories)'", nothing: '-x' }[values.kind]
}
