// The arguments of bubblewrap and sandbox-exec (spec R-BOX-1, R-BOX-2), and the system call filter, as tables.
import { createPermissions } from '../../src/permissions/permissions.ts'
import { describe, expect, test } from 'vitest'
import { bubblewrapArguments } from '../../src/sandbox/bubblewrap.ts'
import type { SandboxDescription } from '../../src/sandbox/description.ts'
import { isDomainAllowed, isPublicAddress } from '../../src/sandbox/domains.ts'
import { sandboxSettingsOf, restrictionsOf } from '../../src/sandbox/sandbox-settings.ts'
import { seatbeltProfile } from '../../src/sandbox/seatbelt.ts'
import { seccompFilter } from '../../src/sandbox/seccomp.ts'

const plain: SandboxDescription = {
  writable: [{ path: '/p', kind: 'folder' }],
  readOnly: [],
  pinned: [],
  missing: [],
  masked: [],
  readable: [],
  denied: [],
  temporary: '/t',
  network: 'none',
  unixSockets: false,
}
const command = { file: 'bash', args: ['-c', 'ls'], directory: '/p' }
const means = { filterDescriptor: 4, canDisableUserNamespaces: true }

/** The mounts for a description, from its first own place on. */
function mounts(description: Partial<SandboxDescription>): string {
  const args = bubblewrapArguments({ ...plain, ...description }, command, means)
  const from = args.indexOf('/t', args.indexOf('/t', args.indexOf('/t') + 1) + 1) + 1
  return args.slice(from, args.indexOf('--seccomp')).join(' ')
}

describe('Bubblewrap', () => {
  test('removes access to the rest of the machine', () => {
    const text = bubblewrapArguments(plain, command, means).join(' ')
    expect(text).toMatch(
      /^--unshare-all --unshare-user --die-with-parent --new-session --cap-drop ALL --disable-userns /,
    )
    expect(text).toContain('--ro-bind / / --dev /dev --proc /proc')
    expect(text).toContain('--tmpfs /run')
    expect(text).toContain('--bind /t /tmp --bind /t /t --bind /p /p')
    expect(text).toMatch(/--seccomp 4 --chdir \/p -- bash -c ls$/)
  })

  test.each([
    ['nothing is writable', { writable: [] }, ''],
    [
      'inner places after outer ones, whatever the list',
      { readOnly: [{ path: '/p/.git/config', kind: 'file' }], pinned: ['/p/.git'] },
      '--bind /p /p --bind /p/.git /p/.git --ro-bind /p/.git/config /p/.git/config',
    ],
    [
      'what must not come to be',
      { missing: ['/p/.claude'] },
      '--bind /p /p --perms 0555 --tmpfs /p/.claude --remount-ro /p/.claude',
    ],
    [
      'a file and a folder that are shut',
      {
        masked: [
          { path: '/h/.ssh', kind: 'folder' },
          { path: '/h/.netrc', kind: 'file' },
        ],
      },
      '--bind /p /p --perms 0000 --tmpfs /h/.ssh --ro-bind /dev/null /h/.netrc --remount-ro /h/.ssh',
    ],
    [
      'a project in a folder that is shut is open',
      { masked: [{ path: '/', kind: 'folder' }] },
      '--perms 0111 --tmpfs / --bind /p /p --remount-ro /',
    ],
    [
      'nothing is open again in what a deny rule names',
      {
        denied: [
          { path: '/p/x', kind: 'folder' },
          { path: '/p/x/deep', kind: 'file' },
        ],
        readable: [{ path: '/p/x/y', kind: 'file' }],
        readOnly: [{ path: '/p/x/.git', kind: 'file' }],
      },
      '--bind /p /p --perms 0000 --tmpfs /p/x --remount-ro /p/x',
    ],
  ] as const)('%s', (_name, description, expected) => {
    expect(mounts(description)).toBe(expected)
  })
})

describe('sandbox-exec', () => {
  test('has this profile for a project', () => {
    const profile = seatbeltProfile(
      {
        ...plain,
        readOnly: [{ path: '/p/.git/config', kind: 'file' }],
        pinned: ['/p/.git'],
        missing: ['/p/.claude'],
        masked: [{ path: '/h', kind: 'folder' }],
        readable: [{ path: '/h/ok', kind: 'folder' }],
        denied: [{ path: '/p/a "b"', kind: 'file' }],
        network: 'proxy',
      },
      4000,
    )
    expect(profile.split('\n').slice(0, 2)).toEqual(['(version 1)', '(deny default)'])
    expect(profile.slice(profile.indexOf('(allow file-write* (subpath "/t")'))).toBe(
      [
        '(allow file-write* (subpath "/t"))',
        '(allow file-read* file-write* (subpath "/p"))',
        '(deny file-read* file-write* (subpath "/h"))',
        '(deny file-write* (subpath "/p/.claude"))',
        '(allow file-read* (subpath "/h/ok"))',
        '(deny file-write* (literal "/p/.git/config"))',
        '(deny file-write-unlink (literal "/p/.git"))',
        String.raw`(deny file-read* file-write* (literal "/p/a \"b\""))`,
        '(allow network-outbound (remote ip "localhost:4000"))',
        '',
      ].join('\n'),
    )
  })

  test('has no network without domains', () => {
    expect(seatbeltProfile(plain)).not.toContain('network')
  })
})

/** Runs a classic BPF program as the kernel does: its result for a call. */
function answer(program: Uint8Array, call: { arch: number; number: number; args?: readonly number[] }): number {
  const view = new DataView(program.buffer)
  const data = [call.number, call.arch, 0, 0, ...(call.args ?? []).flatMap((value) => [value, 0])]
  let accumulator = 0
  for (let at = 0; at < program.length / 8; at += 1) {
    const [code, yes, no] = [view.getUint16(at * 8, true), program[at * 8 + 2] ?? 0, program[at * 8 + 3] ?? 0]
    const value = view.getUint32(at * 8 + 4, true)
    if (code === 0x06) return value
    if (code === 0x20) accumulator = data[value / 4] ?? 0
    else {
      const isTrue =
        code === 0x15 ? accumulator === value : code === 0x35 ? accumulator >= value : (accumulator & value) >>> 0 !== 0
      at += isTrue ? yes : no
    }
  }
  throw new Error('the program has no end')
}

const allow = 0x7fff0000
const refuse = 0x00050001
const x64 = 0xc000003e

describe('The system call filter', () => {
  const filter = seccompFilter('x64', { profile: 'project', unixSockets: false }) ?? new Uint8Array()
  test.each([
    ['read', { arch: x64, number: 0 }, allow],
    ['ptrace', { arch: x64, number: 101 }, refuse],
    ['mount', { arch: x64, number: 165 }, refuse],
    ['clone3', { arch: x64, number: 435 }, 0x00050026],
    ['io_uring_setup', { arch: x64, number: 425 }, 0x00050026],
    ['a socket of the file system', { arch: x64, number: 41, args: [1] }, refuse],
    ['a socket of the internet', { arch: x64, number: 41, args: [2] }, allow],
    ['a raw packet', { arch: x64, number: 41, args: [17] }, refuse],
    ['a pair of sockets', { arch: x64, number: 53, args: [1] }, allow],
    ['a thread', { arch: x64, number: 56, args: [0x3d0f00] }, allow],
    ['clone with a user namespace', { arch: x64, number: 56, args: [0x10000011] }, refuse],
    ['unshare of mounts', { arch: x64, number: 272, args: [0x20000] }, refuse],
    ['TIOCSTI', { arch: x64, number: 16, args: [0, 0x5412] }, refuse],
    ['TIOCGWINSZ', { arch: x64, number: 16, args: [0, 0x5413] }, allow],
    ['a call of x32', { arch: x64, number: 0x40000000 + 101 }, refuse],
    ['a call of another machine', { arch: 0x40000003, number: 26 }, 0x80000000],
  ])('%s', (_name, call, expected) => {
    expect(answer(filter, call)).toBe(expected)
  })

  test('allows sockets of the file system if settings say so', () => {
    const open = seccompFilter('x64', { profile: 'project', unixSockets: true }) ?? new Uint8Array()
    expect(answer(open, { arch: x64, number: 41, args: [1] })).toBe(allow)
  })

  test('has its own numbers for arm64, and is missing for unknown architectures', () => {
    const arm = seccompFilter('arm64', { profile: 'project', unixSockets: false }) ?? new Uint8Array()
    expect(answer(arm, { arch: 0xc00000b7, number: 117 })).toBe(refuse)
    expect(answer(arm, { arch: 0xc00000b7, number: 198, args: [1] })).toBe(refuse)
    expect(answer(arm, { arch: 0xc00000b7, number: 63 })).toBe(allow)
    expect(seccompFilter('riscv64', { profile: 'project', unixSockets: false })).toBeUndefined()
  })
})

describe('Domains', () => {
  test.each([
    ['example.com', ['example.com'], [], true],
    ['EXAMPLE.com.', ['example.com'], [], true],
    ['a.example.com', ['example.com'], [], false],
    ['a.example.com', ['*.example.com'], [], true],
    ['example.com', ['*.example.com'], [], false],
    ['evilexample.com', ['*.example.com'], [], false],
    ['bad.example.com', ['*.example.com'], ['bad.example.com'], false],
    ['anything.org', ['*'], [], true],
    ['1.2.3.4', ['*'], [], false],
    ['1.2.3.4', ['1.2.3.4'], [], true],
  ] as const)('%s with %j without %j: %s', (host, allowed, denied, expected) => {
    expect(isDomainAllowed(host, { allowed, denied })).toBe(expected)
  })

  test.each([
    '127.0.0.1',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    '::ffff:127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    'nonsense',
  ])('%s is not a public address', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })

  test.each(['93.184.216.34', '2606:2800:220:1::1'])('%s is a public address', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })
})

describe('The setting sandbox', () => {
  test('takes switches from the first file that has them, and concatenates lists', () => {
    expect(
      sandboxSettingsOf([
        { enabled: true, network: { allowedDomains: ['a.org'] } },
        { enabled: false, autoAllowBashIfSandboxed: false, network: { allowedDomains: ['b.org', 'a.org'] } },
        { excludedCommands: ['docker *'], filesystem: { denyRead: ['~/x'], allowWrite: ['/y'] } },
      ]),
    ).toEqual({
      enabled: true,
      autoAllowBashIfSandboxed: false,
      excludedCommands: ['docker *'],
      allowedDomains: ['a.org', 'b.org'],
      deniedDomains: [],
      allowAllUnixSockets: false,
      allowWrite: ['/y'],
      denyWrite: [],
      denyRead: ['~/x'],
      allowRead: [],
    })
  })

  test.each([
    [{ enabled: 'yes' }, 'sandbox.enabled in the settings must be true or false.'],
    [{ network: { allowedDomains: 'a' } }, 'sandbox.network.allowedDomains in the settings must be a list of texts.'],
    [{ filesystem: [] }, 'sandbox.filesystem in the settings must be an object.'],
  ])('rejects %j', (given, message) => {
    expect(() => sandboxSettingsOf([given])).toThrow(message)
  })

  test('opens nothing in a project', () => {
    const opening = {
      enabled: true,
      autoAllowBashIfSandboxed: true,
      excludedCommands: ['*'],
      network: { allowedDomains: ['*'], deniedDomains: ['x'], allowAllUnixSockets: true },
      filesystem: { allowWrite: ['/'], denyRead: ['.env'] },
    }
    const shut = { enabled: true, network: { deniedDomains: ['x'] }, filesystem: { denyRead: ['.env'] } }
    expect(restrictionsOf(opening, true)).toEqual(shut)
    expect(restrictionsOf(opening, false)).toEqual({ ...shut, autoAllowBashIfSandboxed: false })
    expect(restrictionsOf({ enabled: false, autoAllowBashIfSandboxed: true }, false)).toEqual({})
  })
})

test('excludes WebFetch domains that ask, and denied ones win (spec R-BOX-6a)', () => {
  const permissions = createPermissions({
    cwd: '/project',
    allow: ['WebFetch(domain:a.com)', 'WebFetch(domain:*.b.com)', 'WebFetch(domain:c.com)', 'WebFetch', 'Bash(x)'],
    ask: ['WebFetch(domain:c.com)'],
    deny: ['WebFetch(domain:evil.b.com)', 'WebFetch(domain:x-*.b.com)'],
  })
  const lists = permissions.domains()
  expect(lists).toEqual({ allowed: ['a.com', '*.b.com'], denied: ['evil.b.com', 'x-*.b.com'] })
  const reached = ['a.com', 'A.COM.', 'n.a.com', 'y.b.com', 'evil.b.com', 'x-1.b.com', 'c.com', 'd.com', '1.2.3.4']
  expect(reached.filter((host) => isDomainAllowed(host, lists))).toEqual(['a.com', 'A.COM.', 'y.b.com'])
})
