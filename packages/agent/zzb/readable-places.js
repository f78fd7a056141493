// packages/agent/src/sandbox/readable-places.ts
import { existsSync, readdirSync } from 'node:fs'
import { basename as basename2, dirname as dirname2, isAbsolute as isAbsolute2, join as join2 } from 'node:path'

// packages/agent/src/paths.ts
import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, delimiter, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
var maxLinks = 40
function realPath(path, linksLeft = maxLinks) {
  try {
    return realpathSync.native(path)
  } catch {
    const parent = dirname(path)
    if (parent === path || linksLeft === 0) return path
    const target = linkTarget(path)
    if (target !== void 0) return realPath(resolve(realPath(parent, linksLeft - 1), target), linksLeft - 1)
    return join(realPath(parent, linksLeft), basename(path))
  }
}
function linkTarget(path) {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : void 0
  } catch {
    return void 0
  }
}
function bothEnds(path) {
  const real = realPath(path)
  return real === path ? [path] : [path, real]
}
function isInside(path, directory) {
  return path === directory || path.startsWith(directory.endsWith(sep) ? directory : directory + sep)
}

// packages/agent/src/sandbox/readable-places.ts
var systemFolders =
  '/usr /bin /sbin /lib /lib32 /lib64 /libx32 /opt /sys /nix/store /gnu/store /snap /run/current-system /run/opengl-driver /var/lib/dpkg /var/lib/rpm /var/lib/pacman /var/cache/man'.split(
    ' ',
  )
var etcNames =
  'alternatives bash.bashrc bash_completion.d bashrc ca-certificates centos-release crypto-policies debian_version default/locale dircolors environment fonts fstab gai.conf gitattributes gitconfig group gtk-3.0 host.conf hostname hosts inputrc issue issue.net java java-11-openjdk java-17-openjdk java-21-openjdk ld.so.cache ld.so.conf ld.so.conf.d lesskey locale.alias locale.conf locale.gen localtime lsb-release machine-id magic magic.mime man.conf man_db.conf manpath.config mailcap mime.types mtab nanorc networks nsswitch.conf opt os-release pam.d/login passwd paths.d perl pki/ca-trust pki/java pki/tls/certs pki/tls/cert.pem profile profile.d protocols python python2.7 python3 python3.10 python3.11 python3.12 python3.13 redhat-release resolv.conf rpc rpm services shells ssl/certs ssl/cert.pem ssl/openssl.cnf system-release terminfo timezone vim vimrc xdg xml'.split(
    ' ',
  )
var besidePrograms =
  'bin sbin shims lib lib64 libexec share include etc versions installs plugins toolchains node_modules Cellar opt version'.split(
    ' ',
  )
var personalNames = [
  '.terminfo',
  '.magic',
  '.jq',
  '.dircolors',
  '.lesskey',
  '.rustup/toolchains',
  '.rustup/settings.toml',
]
var ignoreNames = ['.gitignore', '.ignore', '.rgignore', '.fdignore']
function isSystemPlace(path) {
  return bothEnds(path).every((end) => systemPlaces().some((place) => isInside(end, place)))
}
var system
function systemPlaces() {
  system ??= [...systemFolders, ...etcNames.map((name) => join2('/etc', name))].filter(existsSync).flatMap(bothEnds)
  return system
}
function readablePlaces({ directories, home, env }) {
  const found = [
    ...systemPlaces(),
    '/proc',
    ...directories.flatMap(bothEnds),
    ...directories
      .flatMap((folder) => foldersAbove(realPath(folder)))
      .flatMap((folder) => ignoreNames.map((name) => join2(folder, name))),
    ...programPlaces(env['PATH'] ?? '', home),
    ...personalNames.map((name) => join2(home, name)),
  ]
  return [...new Set(found.filter(existsSync))]
}
function programPlaces(path, home) {
  return [...path.split(':'), dirname2(process.execPath)]
    .filter(isAbsolute2)
    .flatMap(bothEnds)
    .flatMap((folder) => {
      if (systemFolders.some((place) => isInside(folder, place))) return []
      const above = dirname2(folder)
      if (folder === '/' || isInside(home, folder)) return []
      if (!/^(?:s?bin|shims)$/.test(basename2(folder)) || isInside(home, above)) return [folder]
      return besidePrograms.map((name) => join2(above, name))
    })
}
function foldersAbove(folder) {
  const above = dirname2(folder)
  return above === folder ? [] : [above, ...foldersAbove(above)]
}
var harmlessDevices = ['null', 'zero', 'full', 'random', 'urandom', 'tty'].map((name) => `/dev/${name}`)
var listedFolders = ['/tmp', '/dev']
function rootEntries() {
  return readdirSync('/').map((name) => `/${name}`)
}
export { harmlessDevices, isSystemPlace, listedFolders, readablePlaces, rootEntries }
