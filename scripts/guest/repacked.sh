# A function that the scripts which prepare packages for tests share. It uses $work/tree, the unpacked package, and $packages, where packages lie.

# Packs the tree as a package of that version. It is not compressed: a slow guest unpacks it sooner, and dpkg tells by the file itself.
repacked() { # VERSION [FILE]
  sed -i "s/^Version: .*/Version: $1/" "$work/tree/DEBIAN/control"
  sed -i "s/\"version\": .*/\"version\": \"$1\",/" "$work/tree/usr/lib/benchd/package.json"
  (cd "$work/tree" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | xargs -0 md5sum >DEBIAN/md5sums)
  dpkg-deb -Znone --root-owner-group --build "$work/tree" "${2:-$packages/benchd_$1_$(dpkg --print-architecture).deb}" >/dev/null
}
