import type { PlainCommand, Place, SandboxDescription } from './description.ts'

/** The arguments of macOS's sandbox-exec for a command. */
export function seatbeltArguments(
  description: SandboxDescription,
  command: PlainCommand,
  proxyPort?: number,
): readonly string[] {
  return ['-p', seatbeltProfile(description, proxyPort), '--', command.file, ...command.args]
}

/**
 * A profile for sandbox-exec. The last matching rule applies, so the rules are ordered from the outside in. Programs may start and query the system;
 * of the services only those that every program needs are reachable.
 */
export function seatbeltProfile(description: SandboxDescription, proxyPort?: number): string {
  const { temporary, unixSockets } = description
  return [
    '(version 1)',
    '(deny default)',
    '(allow process-exec process-fork)',
    '(allow process-info* (target same-sandbox))',
    '(allow signal (target same-sandbox))',
    '(allow sysctl-read)',
    '(allow file-ioctl (literal "/dev/tty") (literal "/dev/null"))',
    '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo") (global-name "com.apple.system.opendirectoryd.membership") (global-name "com.apple.system.logger") (global-name "com.apple.bsd.dirhelper") (global-name "com.apple.trustd.agent"))',
    '(allow ipc-posix-sem)',
    '(allow file-read*)',
    '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/stdout") (literal "/dev/stderr"))',
    `(allow file-write* (subpath ${quoteString(temporary)}))`,
    ...placeRules(description),
    ...(description.network === 'proxy' && proxyPort !== undefined
      ? [`(allow network-outbound (remote ip "localhost:${proxyPort}"))`]
      : []),
    ...(unixSockets ? ['(allow network* (local unix-socket))', '(allow network-outbound (remote unix-socket))'] : []),
    '',
  ].join('\n')
}

/** One rule per place: rules for inner places follow those for outer ones, and rules for denied places are last. */
function placeRules(description: SandboxDescription): readonly string[] {
  const { writable, readOnly, pinned, missing, masked, readable, denied } = description
  const folder = (path: string): Place => ({ path, kind: 'folder' })
  const rules = [
    ...writable.map((place) => ({ place, operation: 'allow file-read* file-write*' })),
    ...[...readOnly, ...missing.map(folder)].map((place) => ({ place, operation: 'deny file-write*' })),
    ...masked.map((place) => ({ place, operation: 'deny file-read* file-write*' })),
    ...readable.map((place) => ({ place, operation: 'allow file-read*' })),
  ]
  const depth = ({ path }: Place): number => path.split('/').length
  return [
    ...rules.toSorted((one, other) => depth(one.place) - depth(other.place)).map(toRule),
    // A folder above a read-only place must not be renamed, as its path would then name another file.
    ...pinned.map((path) => `(deny file-write-unlink (literal ${quoteString(path)}))`),
    ...denied.map((place) => toRule({ place, operation: 'deny file-read* file-write*' })),
  ]
}

function toRule({ place, operation }: { readonly place: Place; readonly operation: string }): string {
  return `(${operation} ${filterOf(place)})`
}

function filterOf({ path, kind }: Place): string {
  return `(${kind === 'file' ? 'literal' : 'subpath'} ${quoteString(path)})`
}

function quoteString(path: string): string {
  return `"${path.replaceAll('\\', String.raw`\\`).replaceAll('"', String.raw`\"`)}"`
}
