# Functions that the scripts which build packages share: scripts/package and scripts/package-lab. They use $root, the folder that becomes the package.

put() { # MODE FILE DESTINATION…
  local mode=$1 file=$2 to
  shift 2
  for to; do install -D -m "$mode" "$file" "$root$to"; done
}

# Copies npm packages to LIB, each from its own folder here, whose paths are read line by line; without what is for reading only, but for
# the licence of each.
put_modules() { # LIB
  local path
  while read -r path; do
    mkdir -p "$1/$path"
    find "$path" -mindepth 1 -maxdepth 1 ! -name node_modules -exec cp -R {} "$1/$path/" \;
  done
  node scripts/debian/put-licences.mjs "$1"
  # What is built may have folders of such names, as dist/doc of yaml.
  find "$1/node_modules" -type d ! -path '*/dist/*' \( -name test -o -name tests -o -name example -o -name examples -o -name doc -o -name docs \
    -o -name integration-test -o -name .github \) -prune -exec rm -rf {} +
  find "$1/node_modules" -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' -o -iname 'readme*' \
    -o -iname 'history*' -o -iname 'changelog*' -o -name 'tsconfig*.json' -o -name '*.tsbuildinfo' \) -delete
}

# Builds FILE from $root, with the scripts of the maintainer and the control file that is read, in which SIZE stands for the installed size.
# All files belong to root and have the same time, and rights that do not depend on who builds, so that the same sources give the same bytes.
build_deb() { # FILE SCRIPT…
  local file=$1 size
  shift
  chmod -R u=rwX,go=rX "$root"
  # Of files alone: the size of a folder depends on the file system.
  size=$(find "$root" -type f -printf '%s\n' | awk '{ sum += $1 } END { print int((sum + 1023) / 1024) }')
  mkdir "$root/DEBIAN"
  (cd "$root" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | LC_ALL=C sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
  install -m 755 "$@" "$root/DEBIAN/"
  [[ ! -e $root/DEBIAN/triggers ]] || chmod 644 "$root/DEBIAN/triggers"
  sed "s/SIZE/$size/" >"$root/DEBIAN/control"
  find "$root" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
  mkdir -p "$(dirname "$file")"
  dpkg-deb -Zxz --root-owner-group --build "$root" "$file" >/dev/null
}

# Writes the SHA-256 of all that is handed out in the folder beside it.
write_sums() { # FOLDER
  (cd "$1" && shopt -s nullglob && sha256sum benchd_*.deb benchd-lab_*.deb benchd-[0-9]*.tgz benchd-[0-9]*.cdx.json >SHA256SUMS)
}
