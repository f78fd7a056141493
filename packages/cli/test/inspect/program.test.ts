import { appendFileSync, copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openJournal } from '@halting/journal'
import { streamRun, startRun } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { afterEach, expect, test } from 'vitest'
import { toolReply, storeSession, textReply, sessionPath } from '../support/store-session.ts'
import { inspectorStarter } from '../support/inspector.ts'
import { here, installProgram, run, start } from '../support/program.ts'

installProgram()

const [first, second] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002']

afterEach(() => {
  for (const folder of ['.halting', '.claude', '.codex']) rmSync(join(here(), folder), { recursive: true, force: true })
})
const inspecting = inspectorStarter()

interface ListedRow {
  readonly [field: string]: unknown
}

/** The rows of its list. */
async function rowsAt(address: string): Promise<readonly ListedRow[]> {
  const text = await (await fetch(new URL('api/sessions', address))).text()
  // One line each.
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as ListedRow]))
}

async function json(address: string, path: string): Promise<unknown> {
  return (await fetch(new URL(path, address))).json()
}

test('prints one address, serves the sessions of this folder there, and exits with 0 at Ctrl-C', async () => {
  await storeSession(first, [toolReply(['Read', { file_path: 'a.ts' }]), textReply('hello')])
  const each = start(['inspect'])
  await each.waitForOutput('\n')
  const address = each.stdout().trimEnd()
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{22}\/$/)
  expect(await (await fetch(address)).text()).toContain('<div id="app"></div>')
  expect(await rowsAt(address)).toMatchObject([
    { key: first, title: 'go', ending: 'completed', turns: 2, calls: 1, isLive: false, program: 'halting' },
  ])
  each.child.kill('SIGINT')
  const { status, stdout, stderr } = await each.ended
  expect({ status, stdout }).toEqual({ status: 0, stdout: `${address}\n` })
  expect(stderr).toContain('Press Ctrl-C to stop.')
})

test('shows the sessions of all folders with --all, including those of other programs with their flags', async () => {
  await storeSession(first, [textReply('hello')])
  const samples = join(import.meta.dirname, '../../../analysis/test/foreign/samples')
  for (const [folder, sample, name] of [
    ['.claude/projects/-home', 'claude-code-polling.jsonl', `${second}.jsonl`],
    ['.codex/sessions/2026', 'codex-rollout-0.jsonl', `rollout-2026-01-01T00-00-00-${second}.jsonl`],
  ] as const) {
    mkdirSync(join(here(), folder), { recursive: true })
    copyFileSync(join(samples, sample), join(here(), folder, name))
  }
  const programsOf = async (...flags: readonly string[]): Promise<readonly unknown[]> => {
    const { address } = await inspecting(flags)
    return (await rowsAt(address)).map(({ program }) => String(program)).toSorted((a, b) => a.localeCompare(b))
  }
  expect(await programsOf('--all')).toEqual(['halting'])
  expect(await programsOf('--all', '--codex')).toEqual(['codex', 'halting'])
  expect(await programsOf('--all', '--claude-code', '--codex')).toEqual(['claude-code', 'codex', 'halting'])
  expect(await programsOf('--claude-code', '--codex')).toEqual(['claude-code', 'codex'])
})

test('opens the page with a session that is named alone, and explains its ending like why', async () => {
  await storeSession(first, [textReply('hello')])
  await storeSession(second, [textReply('hello')])
  const { address } = await inspecting(['bbbb'])
  expect(new URL(address).hash).toBe(`#/session/${second}/1/timeline`)
  const { runs } = (await json(address, `api/session?key=${second}`)) as { readonly runs: readonly [{ why: string }] }
  const { stdout: why } = await run(['why', second])
  expect(runs[0].why).toBe(why)
  expect(await json(address, `api/records?key=${second}&run=0&from=0&count=1`)).toMatchObject([{ type: 'start' }])
  expect(await json(address, `api/parts?key=${second}&run=0&from=0&count=9`)).toEqual([
    { kind: 'person', by: 'Prompt', text: 'go' },
    { kind: 'answer', text: 'hello' },
  ])
})

test('shows a run while it is active, and tolerates a line that is being written', async () => {
  const { address } = await inspecting()
  expect(await rowsAt(address)).toEqual([])
  const reader = (await fetch(new URL('api/changes', address))).body?.pipeThrough(new TextDecoderStream()).getReader()
  let heard = ''
  const hears = async (): Promise<void> => {
    while (!heard.includes(first)) heard += (await reader?.read())?.value ?? 'gone'
    heard = ''
  }
  const journal = await openJournal({ path: sessionPath(first), sessionId: first, cwd: here(), version: '0.1.0' })
  await streamRun(startRun({ prompt: 'go', sessionId: first, transcript: journal.transcript }), {
    model: scriptedModel([textReply('one')], { maxOutputTokens: 1_000 }),
    steps: journal.steps(),
  }).result
  await hears()
  // What is on disk may be incomplete: it is read again until it is complete.
  await expect.poll(() => rowsAt(address)).toMatchObject([{ key: first, turns: 1, isLive: true }])
  appendFileSync(sessionPath(first), '{"half":"a li')
  await hears()
  expect(await rowsAt(address)).toMatchObject([{ key: first, turns: 1, ending: 'completed' }])
  expect((await rowsAt(address))[0]).not.toHaveProperty('problem')
  await journal.close()
  await hears()
  await expect.poll(() => rowsAt(address)).toMatchObject([{ key: first, isLive: false }])
  await reader?.cancel()
})

test('shows the sessions of a folder: two with the same ID separately, and unreadable ones with the reason', async () => {
  await storeSession(first, [textReply('hello')])
  const folder = join(here(), 'many')
  for (const name of ['a', 'b']) mkdirSync(join(folder, name), { recursive: true })
  copyFileSync(sessionPath(first), join(folder, 'a', `${first}.jsonl`))
  copyFileSync(sessionPath(first), join(folder, 'b', `${first}.jsonl`))
  writeFileSync(join(folder, 'broken.jsonl'), 'no session\n')
  const { address } = await inspecting([folder])
  const rows = await rowsAt(address)
  expect(rows.map(({ key }) => String(key)).toSorted()).toEqual([first, `${first}~2`, 'broken'])
  expect(rows.find(({ key }) => key === 'broken')).toMatchObject({
    problem: expect.stringContaining('is no session of this program') as string,
  })
  const refused = await fetch(new URL('api/session?key=broken', address))
  expect([refused.status, await refused.json()]).toMatchObject([422, { error: expect.any(String) as string }])
  expect((await fetch(new URL('api/session?key=none', address))).status).toBe(404)
  rmSync(folder, { recursive: true })
})

test('writes one session as a file, and never over its source', async () => {
  await storeSession(first, [textReply('</script><script>hello')])
  const file = join(here(), 'it.html')
  const { status, stdout, stderr } = await run(['inspect', '--output', 'it.html', first])
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: '', stderr: 'halting: wrote it.html\n' })
  const text = readFileSync(file, 'utf8')
  expect(text).toContain('\\u003c/script>\\u003cscript>hello')
  expect(text.match(/<\/script>/g)).toHaveLength(text.match(/<script/g)?.length ?? 0)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const again = await run(['inspect', '--output', 'it.html'])
  expect([again.status, again.stderr]).toEqual([2, expect.stringContaining('--force')])
  expect((await run(['inspect', '--output', 'it.html', '--force'])).status).toBe(0)
  const over = await run(['inspect', '--output', sessionPath(first), '--force', first])
  expect([over.status, over.stderr]).toEqual([2, expect.stringContaining('is the session itself')])
})

test('stops an export whose session is deleted meanwhile, and prints why', async () => {
  const edits = Array.from({ length: 100 }, (_, turn) => toolReply(['Edit', { text: `${turn}${'x'.repeat(100_000)}` }]))
  await storeSession(first, edits)
  const { address, program } = await inspecting()
  const answer = await fetch(new URL(`api/export?key=${first}`, address))
  // Most of it waits for its reader.
  rmSync(sessionPath(first))
  expect(await rowsAt(address)).toEqual([])
  await expect(answer.text()).rejects.toThrow('terminated')
  await program.waitForOutput('halting: The session was cut or removed while it was exported: some of it is gone.\n')
})

test('opens the address with --open, and reports a failure', async () => {
  const openedFile = join(here(), 'opened')
  writeFileSync(
    join(here(), 'xdg-open'),
    `#!/bin/sh\necho "$1" > '${openedFile}.part' && mv '${openedFile}.part' '${openedFile}'\n`,
    {
      mode: 0o755,
    },
  )
  const { address } = await inspecting(['--open'], { PATH: `${here()}:${process.env['PATH']}` })
  await expect.poll(() => statSync(openedFile, { throwIfNoEntry: false })?.size).toBeGreaterThan(0)
  expect(readFileSync(openedFile, 'utf8')).toBe(`${address}\n`)
  rmSync(join(here(), 'xdg-open'))
  const { program } = await inspecting(['--open'], { PATH: here() })
  await program.waitForOutput('cannot open a browser: ')
})

test('refuses conflicting flags before it serves anything', async () => {
  for (const [args, said] of [
    [['none'], 'No conversation found'],
    [['./none/'], 'File or folder not found: ./none/.'],
    [['--max-budget-usd', '1'], '--max-budget-usd has no effect with halting inspect.'],
    [['--force'], '--output FILE'],
    [['--all', 'x'], '--all shows the sessions of all folders'],
    [['--all', '--output', 'x.html'], 'Leave out --all'],
    [['--open', '--output', 'x.html'], 'starts no server'],
    [['--output', 'x.html', 'a', 'b'], '--output writes one session'],
    [['--output', 'x.html'], 'This folder has no sessions'],
    [['--claude-code'], 'No sessions of Claude Code found'],
    [['--all', '--cluster', 'http://127.0.0.1:1'], '--cluster those of a cluster'],
    [['--output', 'x.html', '--cluster', 'http://127.0.0.1:1'], 'Name the session'],
    [['--cluster', 'http://127.0.0.1:1', '--admin', 'http://127.0.0.1:1'], 'http://127.0.0.1:1'],
    [['--port', 'x'], '--port'],
    [['--json'], '--json belongs to'],
  ] as const) {
    const { status, stdout, stderr } = await run(['inspect', ...args])
    expect({ args, status, stdout, stderr }).toEqual({
      args,
      status: 2,
      stdout: '',
      stderr: expect.stringContaining(said) as string,
    })
  }
})
