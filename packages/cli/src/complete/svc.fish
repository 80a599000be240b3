# Completion of svc for fish.

function __svc_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    # A quote that is still open is closed for the reading alone.
    set -l typed (string unescape -- $token; or string unescape -- $token"'"; or string unescape -- $token\")
    set -l svc svc
    string match -q '*/*' -- $words[1]; and set svc (string replace -r '^~' -- $HOME $words[1])
    set -e words[1]
    for line in ($svc complete -- $words "$typed" 2>/dev/null)
        switch $line
            case :files
                __svc_paths __fish_complete_path "$typed"
            case :folders
                __svc_paths __fish_complete_directories "$typed"
            case ':*'
            case '*'
                printf '%s\n' $line
        end
    end
end

# Paths for a word that may begin with its flag: --file=pa
function __svc_paths
    set -l flag (string match -r -- '^-[^=]*=' $argv[2])
    set -l path (string replace -r -- '^-[^=]*=' '' $argv[2])
    for line in ($argv[1] "$path" '')
        printf '%s\n' "$flag$line"
    end
end

complete -c svc -e
complete -c svc -f -a '(__svc_complete)'
