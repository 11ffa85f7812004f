// Finds the programs that code calls: in TypeScript and JavaScript the first argument of calls of `node:child_process`, in shell scripts the
// words where a command stands. A shell script inside TypeScript is read where it is written out behind `-c`.

/** Words of the shell that stand where a command may stand. */
const shellWords = new Set(
  `. : alias bg break builtin case cd command compadd continue coproc declare do done echo elif else esac eval exec exit export false fg fi for
  function getopts hash if in jobs kill let local mapfile printf pwd read readonly return select set shift shopt source test then time times
  trap true type typeset ulimit umask unalias unset until wait while`.split(/\s+/),
)

/** A command stands at the beginning of a line and behind these signs, behind words that lead to it, and behind values for it. */
const command =
  /(?:^|[;&|({!`])[ \t]*(?:(?:then|do|else|elif|if|while|until|exec|command|time|!|xargs(?: +-\S+)*)[ \t]+)*(?:\w+=[^\s(]* +)*([a-z][\w.+-]*)(?![\w.+=/([-])/gm
/** Text between two brackets, with more brackets within it, up to five deep. */
const bracketed = Array.from({ length: 5 }).reduce<string>((inner) => `(?:[^()]|\\(${inner}\\))*`, '[^()]*')
const substituted = new RegExp(`\\$\\((${bracketed})\\)`, 'g')
/** Quotes and comments together, because the signs of the one mean nothing in the other. */
const quoted = new RegExp(`(?<=^|\\s)#.*$|'[^']*'|"(?:[^"\\\\$]|\\\\.|\\$\\(${bracketed}\\)|\\$)*"`, 'gm')

export function calledByScript(script: string): string[] {
  const bare = script
    .replace(/<<-?\s*(['"]?)(\w+)\1(.*)\n[\s\S]*?\n\s*\2$/gm, '$3')
    .replace(/\\\n/g, ' ')
    .replace(quoted, calledInQuotes)
  const functions = new Set([...bare.matchAll(/^\s*([\w-]+)\(\)/gm)].map(([, name]) => name))
  const plain = bare
    .replace(/\$\{(?:[^{}]|\{[^{}]*\})*\}/g, 'VALUE')
    .replace(/\{[^\s{}]*,[^\s{}]*\}/g, 'VALUE')
    .replace(/\[\[[\s\S]*?\]\]/g, 'TRUE')
    .replace(/\$?\(\((?:[^()]|\([^()]*\))*\)\)/g, 'VALUE')
    .replace(/(\w\+?=)\([^()]*\)/g, '$1LIST')
    .replace(/(\bin|;;)\s*\(?[^\s();]+(?: *\| *[^\s();]+)*\)/g, '$1;')
  return unique([...plain.matchAll(command)].flatMap(([, name = '']) => (shellWords.has(name) || functions.has(name) ? [] : [name])))
}

/** In double quotes only `$(…)` calls something. */
function calledInQuotes(text: string): string {
  if (text.startsWith('#')) return ''
  const inner = text.startsWith('"') ? [...text.matchAll(substituted)] : []
  return `QUOTED${inner.map(([, called = '']) => `$(${called.replace(quoted, calledInQuotes)})`).join('')}`
}

const calls = ['spawn', 'spawnSync', 'execFile', 'execFileSync', 'promisify(execFile)']

export function calledByCode(code: string): string[] {
  if (!code.includes("'node:child_process'")) return []
  const own = [
    ...code.matchAll(/\b(?:const|function) (\w+)(?: = promisify\(execFile\)| = \((?:program|command)\b| ?\((?:program|command)\b)/g),
  ]
  const names = [...calls, ...own.map(([, name = '']) => name)].map((name) => name.replace(/[()]/g, '\\$&'))
  const direct = [...code.matchAll(new RegExp(`(?<![.\\w#])(?:${names.join('|')})\\(\\s*'([\\w.+-]+)'`, 'g'))].map(([, name = '']) => name)
  const scripts = [...code.matchAll(/'(?:ba|z)?sh', \[(?:'[^']*', )*'-c', (['`])([^'`]*)\1/g)].map(([, , script = '']) => script)
  return unique([...direct, ...scripts.flatMap(calledByScript)])
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)].sort()
}
