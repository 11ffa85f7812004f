# fish completion of benchd: put it into ~/.config/fish/completions/benchd.fish
function __benchd_offered
    set -l current (commandline -ct)
    set -l option (string match -r '^--[^=]*=' -- "$current"; or echo)
    set -l rest (string sub -s (math (string length -- "$option") + 1) -- "$current")
    set -l offered (benchd completion --resolve (commandline -opc)[2..-1] "$current" 2>/dev/null)
    switch "$offered[1]"
        case :files
            set offered (__fish_complete_path "$rest")
        case :folders
            set offered (__fish_complete_directories "$rest")
    end
    for one in $offered
        echo $option$one
    end
end
complete -c benchd -f -a '(__benchd_offered)'
