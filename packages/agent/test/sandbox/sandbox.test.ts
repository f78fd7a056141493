// What commands can do in the sandbox, and what becomes of those that cannot be held (spec R-BOX-1 to R-BOX-9).
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createPermissions, SandboxError, sandboxSettingsOf } from '@halting/policy'
import { openSandbox } from '@halting/agent/sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { contentOf, folderInSight, isBubblewrapThere, makeWorld, secret, shellIn } from './world.ts'

describe.skipIf(!isBubblewrapThere)('Work continues in the sandbox (needs bubblewrap)', () => {
  test('files of the project are written, git commits, the directory persists, nothing stays behind', async () => {
    const world = await makeWorld()
    const { run, workspace } = await shellIn(world, 'held')
    const before = readdirSync(world.project).toSorted()
    const { text, isError } = await run(
      'echo new > made && git add made && git -c user.name=a -c user.email=a@b commit -qm x && git log --oneline | wc -l && mkdir d && cd d',
    )
    expect({ text, isError }).toEqual({ text: '1', isError: false })
    expect(contentOf(join(world.project, 'made'))).toBe('new\n')
    expect(workspace.shellDirectory).toBe(join(world.project, 'd'))
    expect((await run('pwd')).text).toBe(join(world.project, 'd'))
    // The folders that prevented .claude and others from being created are gone again.
    expect(readdirSync(world.project).toSorted()).toEqual([...before, 'd', 'made'].toSorted())
  })

  test('/tmp persists between commands, and belongs to the session', async () => {
    const { run } = await shellIn(await makeWorld(), 'held')
    await run('echo a > /tmp/x; echo b > "$TMPDIR/y"')
    expect((await run('cat /tmp/x /tmp/y; ls /tmp | grep -x .')).text).toBe('a\nb\nx\ny')
  })

  test('commands without a rule write nothing (R-BOX-3)', async () => {
    const world = await makeWorld()
    const { workspace } = await shellIn(world, 'held')
    const described = workspace.sandbox?.describe('read-only').description
    expect(described).toMatchObject({ writable: [], network: 'none', unixSockets: false })
  })

  test('reports how a command ends as usual', async () => {
    const { run } = await shellIn(await makeWorld(), 'held')
    expect(await run('echo out; echo err >&2; exit 7')).toMatchObject({ text: 'Exit code 7\nout\nerr', isError: true })
  })

  test('ends a command that takes too long with everything that it started', async () => {
    const { run } = await shellIn(await makeWorld(), 'held')
    const started = performance.now()
    await run('sleep 0.1')
    expect(performance.now() - started).toBeLessThan(10_000)
  })

  test('rejects a link in place of a protected path', async () => {
    const world = await makeWorld()
    symlinkSync(world.outside, join(world.project, '.claude'))
    const { text, isError } = await (await shellIn(world, 'held')).run('echo x > made')
    expect({ isError, isMade: existsSync(join(world.project, 'made')) }).toEqual({ isError: true, isMade: false })
    expect(text).toContain('.claude is a link')
  })

  test('a deny rule that hides the project stops commands', async () => {
    const world = await makeWorld()
    const { workspace, run } = await shellIn(world, 'held')
    const permissions = createPermissions({ cwd: world.project, deny: ['Read(./**)'] })
    workspace.sandbox?.dispose()
    workspace.sandbox = await openSandbox({
      cwd: world.project,
      directories: [world.project],
      home: world.home,
      settings: sandboxSettingsOf([{ enabled: true }]),
      denied: () => permissions.deniedPlaces(),
    })
    expect((await run('true')).text).toContain('A deny rule covers')
  })

  test('rejects the home folder as project', async () => {
    const world = await makeWorld()
    const { run } = await shellIn({ ...world, project: world.home }, 'held')
    expect((await run('touch x')).text).toContain('it contains your home folder')
  })

  test('applies what settings open and hide', async () => {
    const world = await makeWorld()
    const filesystem = {
      allowWrite: [join(world.outside)],
      denyWrite: ['./file'],
      denyRead: ['~/.halting'],
      allowRead: ['~/.netrc'],
    }
    const { run } = await shellIn(world, 'held', { filesystem })
    const { text } = await run('echo x > "$OUTSIDE/target"; echo x > file; ls ~/.halting; cat ~/.netrc')
    expect(contentOf(join(world.outside, 'target'))).toBe('x\n')
    expect(contentOf(join(world.project, 'file'))).toBe('whole\n')
    expect(text).toContain(secret)
    expect(text).toContain('.halting')
  })

  test('runs excluded commands outside, but not what is joined to them', async () => {
    const world = await makeWorld()
    const { run, workspace } = await shellIn(world, 'held', { excludedCommands: ['touch *'] })
    await run(`touch ${join(world.outside, 'excluded')}`)
    await run(`touch ${join(world.outside, 'joined')}; true`)
    expect([existsSync(join(world.outside, 'excluded')), existsSync(join(world.outside, 'joined'))]).toEqual([
      true,
      false,
    ])
    expect([workspace.sandbox?.holds('touch x'), workspace.sandbox?.holds('touch x; ls')]).toEqual([false, true])
  })

  test('reaches allowed domains through the proxy, and nothing else (R-BOX-6)', async () => {
    const upstream = createServer((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello'))
    })
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void upstream.close())
    const address = upstream.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    const asked: string[] = []
    const world = await makeWorld()
    const domains = {
      allowedDomains: ['*.example.com', 'home.example.org', 'localhost', '127.0.0.1'],
      deniedDomains: ['bad.example.com'],
    }
    const { run } = await shellIn(
      world,
      'held',
      { network: domains },
      {
        resolve: async (host) =>
          host.endsWith('.org')
            ? ['93.184.216.34', '127.0.0.1']
            : host === 'a.example.com'
              ? ['93.184.216.34']
              : ['127.0.0.1'],
        open: (to, at): Socket => {
          asked.push(`${to}:${at}`)
          return connect(port, '127.0.0.1')
        },
      },
    )
    const urls = ['a.example.com', 'example.com', 'bad.example.com', 'home.example.org', 'localhost', '127.0.0.1']
    const commands = urls.map((host) => `curl -s --noproxy '' --max-time 5 http://${host}/; echo " ${host}"`)
    const { text } = await run(`${commands.join('\n')}\ncurl -s --max-time 5 -x '' http://127.0.0.1:$PORT/ || echo no`)
    expect(text.split('\n').map((line) => line.trim())).toEqual([
      'hello a.example.com',
      'example.com is not reachable from the sandbox: no allowed domain matches it',
      'example.com',
      'bad.example.com is not reachable from the sandbox: no allowed domain matches it',
      'bad.example.com',
      'home.example.org is not reachable from the sandbox: it resolves to a private address',
      'home.example.org',
      'localhost is not reachable from the sandbox: it resolves to a private address',
      'localhost',
      '127.0.0.1 is not reachable from the sandbox: it resolves to a private address',
      '127.0.0.1',
      'no',
    ])
    expect(asked).toEqual(['93.184.216.34:80'])
  })

  test('CONNECT is served for tunnels, with every byte of a large answer', async () => {
    const size = 3_000_000
    const upstream = createServer((socket) => void socket.end(Buffer.alloc(size, 'x')))
    await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void upstream.close())
    const address = upstream.address()
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    const { run } = await shellIn(
      await makeWorld(),
      'held',
      { network: { allowedDomains: ['a.org'] } },
      {
        resolve: async () => ['93.184.216.34'],
        open: (): Socket => connect(port, '127.0.0.1'),
      },
    )
    const command =
      'exec 5<>/dev/tcp/127.0.0.1/3128; printf "CONNECT a.org:443 HTTP/1.1\\r\\n\\r\\n" >&5; read -r line <&5; read -r line2 <&5; echo "$line"; cat <&5 | wc -c'
    expect((await run(command)).text.replaceAll('\r', '')).toBe(`HTTP/1.1 200 Connection established\n${size}`)
  })
})

describe('Nothing runs without the sandbox programs (R-BOX-9)', () => {
  test('reports a missing bwrap with what to install', async () => {
    const folder = folderInSight()
    mkdirSync(join(folder, 'bin'))
    await expect(opened(join(folder, 'bin'))).rejects.toThrow(/bwrap was not found\. Install it/)
  })

  test('reports a failing bwrap with its message', async () => {
    const folder = folderInSight()
    const script =
      '#!/bin/sh\n[ "$1" = --version ] && { echo bubblewrap 0.9.0; exit; }\necho "No permissions" >&2; exit 1\n'
    writeFileSync(join(folder, 'bwrap'), script, { mode: 0o755 })
    await expect(opened(`${folder}:${process.env['PATH']}`)).rejects.toThrow(/cannot create a sandbox: No permissions/)
  })
})

async function opened(path: string): Promise<unknown> {
  if (process.platform !== 'linux')
    throw new SandboxError('bwrap was not found. Install it; cannot create a sandbox: No permissions')
  const before = process.env['PATH']
  process.env['PATH'] = path
  try {
    const settings = sandboxSettingsOf([{ enabled: true }])
    return await openSandbox({ cwd: '/none', directories: ['/none'], home: '/root', settings })
  } finally {
    process.env['PATH'] = before
  }
}
