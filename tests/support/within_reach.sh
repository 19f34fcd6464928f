# Sourced with folders that an ordinary user must be able to read; in a mount namespace whose /run is its own.
# An interpreter, or the code, may lie below a folder that is closed to others: such a folder is covered by an empty
# one in which only what is needed stands.
number=0
for folder in "$@"; do
    number=$((number + 1))
    mkdir -p /run/kept/$number
    mount --bind "$folder" /run/kept/$number
done
for folder in "$@"; do
    above=
    while IFS= read -r -d / part; do
        above=$above${part:+/$part}
        if [ -n "$above" ] && [ -d "$above" ] && [[ $(stat -c %A "$above") != *[xt] ]]; then
            mount -t tmpfs -o mode=755 tmpfs "$above"
        fi
    done <<<"$folder/"
done
number=0
for folder in "$@"; do
    number=$((number + 1))
    [ -d "$folder" ] || { mkdir -p "$folder" && mount --bind /run/kept/$number "$folder"; }
done
