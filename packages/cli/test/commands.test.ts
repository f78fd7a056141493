import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { commandNames, isCommand, interpretWord } from '../src/flags/commands.ts'
import { installProgram, programPath, run, script } from './support/program.ts'

installProgram()

interface Service {
  readonly url: string
  readonly seen: { readonly url: string | undefined; readonly key: string | undefined }[]
}

/** A local service that gives the same answer to every request. */
async function startService(status: number, body: string): Promise<Service> {
  const seen: Service['seen'] = []
  const server = createServer((request, response) => {
    const { 'x-api-key': key, authorization } = request.headers
    seen.push({ url: request.url, key: String(key ?? authorization) })
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  // True: a server on a port has an address of this type.
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

const modelList = (...ids: readonly string[]): string => JSON.stringify({ data: ids.map((id) => ({ id })) })

test('lists every command on the first help screen and in the guide, with its own help page', async () => {
  const screen = (await run(['--help'])).stdout
  const guide = readFileSync(fileURLToPath(new URL('../../../docs/guide/commands.md', import.meta.url)), 'utf8')
  const isOnScreen = (command: string): boolean => new RegExp(`^ {2}(?:[\\w-]+, )*${command}\\b`, 'm').test(screen)
  const isInGuide = (command: string): boolean => new RegExp(`halting ${command}\\b`).test(guide)
  expect(commandNames.filter((name) => name !== 'help' && !isOnScreen(name))).toEqual([])
  expect(commandNames.filter((name) => !isInGuide(name))).toEqual([])
  expect(screen).toContain('halting help flags')
})

test.each([
  [['why', '--help'], ['help', 'why'], /^Usage: halting why \[SESSION\]\n/],
  [['sessions', 'show', '--help'], ['help', 'sessions', 'show'], /^Usage: halting sessions show ID\n/],
  [['mcp', 'add', '--help'], ['help', 'mcp', 'add'], /^Usage: halting mcp add \[flags\] NAME COMMAND/],
  [['-p', '--help'], ['help', '-p'], /^Usage: halting -p "PROMPT" \[flags\]\n/],
])('prints the same page for halting %j and halting %j', async (call, help, start) => {
  const printed = await run(call)
  expect(printed).toEqual({ status: 0, stderr: '', stdout: expect.stringMatching(start) as string })
  expect(await run(help)).toEqual(printed)
})

test.each([
  [['doctr', '--help'], 'halting: There is no command "doctr". Did you mean doctor?\n'],
  [['help', 'doctr'], 'halting: There is no command "doctr". Did you mean doctor?\n'],
])('suggests the nearest command for halting %j', async (args, stderr) => {
  expect(await run(args)).toEqual({ status: 2, stdout: '', stderr })
})

describe('a single word', () => {
  test.each([
    [['doctr'], 'There is no command "doctr". Did you mean halting doctor?'],
    [['chek', '--max-turns', '3'], 'Did you mean halting check?'],
    [['Models'], 'Did you mean halting models?'],
    [['login'], 'Instead: set ANTHROPIC_API_KEY;'],
    [['test'], '"test" is reserved for a later command.'],
    [['--verbose', 'wait'], '"wait" is reserved for a later command.'],
  ])('%j is refused as a prompt before any request, with the way to send it', async (args, hint) => {
    const { url, seen } = await startService(200, '')
    const { status, stdout, stderr } = await run(args, { env: { ANTHROPIC_BASE_URL: url } })
    expect([status, stdout, seen]).toEqual([2, '', []])
    expect(stderr).toContain(hint)
    const word = args.find((arg) => /^\w+$/.test(arg) && arg !== '3')
    expect(stderr).toContain(`Nothing ran. To send it as a prompt: halting -p ${word}, or halting -- ${word}.`)
  })

  test.each([[['fix']], [['explain']], [['-p', 'help']], [['--', 'test']], [['-p', 'doctor']], [['what is this?']]])(
    '%j is sent as a prompt',
    async (args) => {
      const { url, seen } = await startService(400, '{}')
      expect((await run(args, { env: { ANTHROPIC_BASE_URL: url } })).status).toBe(1)
      expect(seen).toHaveLength(1)
    },
  )

  test('that is a command does not run if a flag requests a conversation', async () => {
    const { status, stderr } = await run(['--continue', 'undo'])
    expect([status, stderr]).toEqual([2, expect.stringContaining('"undo" is a command, and --continue starts')])
  })

  test('that is a command runs, even after flags', async () => {
    expect(await run(['--output-format', 'json', 'models', 'haiku'])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('"models"') as string,
    })
  })
})

test('reserves the words of the specification, none of which is a command', () => {
  const words = 'test eval run ps attach logs stop wait worktrees'.split(' ')
  for (const word of words) expect(() => interpretWord(word)).toThrow(`"${word}" is reserved`)
  expect(words.filter(isCommand)).toEqual([])
})

test.each([
  ['fit', { kind: 'prompt' }],
  ['done', { kind: 'prompt' }],
  ['docter', { kind: 'slip', of: 'doctor' }],
  ['udno', { kind: 'slip', of: 'undo' }],
])('treats %s as %j', (word, expected) => {
  expect(interpretWord(word)).toEqual(expected)
})

test.each([
  ['as the name of a model', ['-p', 'hi', '--model']],
  ['as that of a fallback', ['-p', 'hi', '--fallback-model']],
  ['for the doctor', ['doctor', '--model']],
  ['as a command', []],
])('never repeats a key given %s', async (_where, args) => {
  const key = 'sk-ant-api03-aB3dE5gH7jK9mN1pQ3sT5vX7zA9'
  const { stdout, stderr, status } = await run([...args, key])
  expect(status).not.toBe(0)
  expect(stdout + stderr).not.toContain(key.slice(14))
})

describe('halting models', () => {
  test('lists names, windows, prices and where a key was found', async () => {
    const { status, stdout } = await run(['models'], { env: { OPENAI_API_KEY: 'k' } })
    expect(status).toBe(0)
    expect(stdout).toMatch(/^anthropic {2}no key: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN\n/)
    expect(stdout).toMatch(/\n {2}claude-sonnet-5-5 +1M {2}\$2 \/ \$10\n/)
    expect(stdout).toMatch(/\nopenai {2}key from OPENAI_API_KEY\n/)
    expect(stdout).toContain('sonnet is claude-sonnet-5-5')
  })

  test('lists models with a part in their names, also as JSON', async () => {
    const { stdout } = await run(['models', 'haiku', '--output-format', 'json'])
    const listing = JSON.parse(stdout) as { readonly models: readonly { readonly name: string }[] }
    expect(listing.models.length).toBeGreaterThan(1)
    expect(listing.models.every(({ name }) => name.includes('haiku'))).toBe(true)
  })

  test('hides models that the configured API does not serve', async () => {
    const namesIn = async (...flags: readonly string[]): Promise<readonly string[]> => {
      const { stdout } = await run(['models', 'openai/', '--output-format', 'json', ...flags])
      return (JSON.parse(stdout) as { readonly models: readonly { readonly name: string }[] }).models.map(
        ({ name }) => name,
      )
    }
    const isAlone = (name: string): boolean => /^openai\/.*-(pro|codex)/.test(name)
    const all = await namesIn()
    const chat = await namesIn('--settings', '{"openaiApi":"chat_completions"}')
    expect(all.filter(isAlone).length).toBeGreaterThan(3)
    expect(chat).toEqual(all.filter((name) => !isAlone(name)))
    expect(await run(['models', 'gpt-5-pro', '--settings', '{"openaiApi":"chat_completions"}'])).toMatchObject({
      status: 2,
      stderr:
        'halting: Only the Responses API serves openai/gpt-5-pro, but chat completions are configured. ' +
        'Remove HALTING_OPENAI_API or openaiApi to list and use such models.\n',
    })
  })

  test('suggests the nearest name if there is no match', async () => {
    expect(await run(['models', 'gemini-2.5-por'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('Did you mean google/gemini-2.5-pro?') as string,
    })
  })
})

describe('a model name', () => {
  test.each([
    ['gemini-2.5-pro', 'google/gemini-2.5-pro'],
    ['sonet', 'sonnet'],
    ['claude_opus_5', 'claude-opus-5'],
    ['sonnet-4-5', 'claude-sonnet-4-5'],
    ['sonnet4.5', 'claude-sonnet-4-5'],
    ['haiku4', 'claude-haiku-4-5'],
    ['gpt5', 'openai/gpt-5'],
  ])('%s is refused, and the nearest known one is suggested', async (name, meant) => {
    const { status, stderr } = await run(['-p', 'hi', '--model', name])
    expect(status).toBe(2)
    expect(stderr).toBe(
      `halting: No known service has a model "${name}". Did you mean ${meant}? halting models lists known models.\n`,
    )
  })

  test('that looks misspelled is sent as written, with a note', async () => {
    const { url, seen } = await startService(400, '{}')
    for (const slip of ['claude-sonet-5-5', 'claude-sonnet-5.5']) {
      const { stderr } = await run(['-p', 'hi', '--model', slip], { env: { ANTHROPIC_BASE_URL: url } })
      expect(stderr).toContain('(did you mean claude-sonnet-5-5?). Sending it as written.')
    }
    expect(seen).toHaveLength(2)
  })

  test('with an unknown version is not a misspelling', async () => {
    const { url } = await startService(400, '{}')
    const { stderr } = await run(['-p', 'hi', '--model', 'claude-sonnet-5-6'], { env: { ANTHROPIC_BASE_URL: url } })
    expect(stderr).not.toContain('Did you mean')
  })
})

describe('halting doctor', () => {
  test('confirms that a run can start', async () => {
    const { url, seen } = await startService(200, modelList('claude-sonnet-5-5'))
    const env = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'secret-key' }
    const { status, stdout, stderr } = await run(['doctor'], { env })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(/^ok {2}model +claude-sonnet-5-5 \(the default\)/)
    expect(stdout).toMatch(/\nok {2}key +from ANTHROPIC_API_KEY\n/)
    expect(stdout).toContain(`${url} responds and has claude-sonnet-5-5`)
    for (const what of ['proxy', 'node', 'ripgrep', 'git', 'sandbox', 'settings'])
      expect(stdout).toContain(`  ${what} `)
    expect(stdout).toMatch(/A run can start\.\n$/)
    expect(stdout).not.toContain('secret-key')
    expect(seen).toEqual([{ url: '/v1/models?limit=1000', key: 'secret-key' }])
  })

  test('says how to fix a missing key and a rejected one', async () => {
    const missing = await run(['doctor'])
    expect(missing.status).toBe(1)
    expect(missing.stdout).toMatch(/!! {2}key +not found\n +Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN\.\n/)
    const { url } = await startService(401, '{"error":{"message":"bad key k-123"}}')
    const refused = await run(['doctor', '--model', 'gpt-5'], {
      env: { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: 'k-123' },
    })
    expect(refused.status).toBe(1)
    expect(refused.stdout).toContain('rejects the key (401)')
    expect(refused.stdout).toContain('Set a valid key in OPENAI_API_KEY.')
    expect(refused.stdout).not.toContain('k-123')
  })

  test('explains a wrong address, a wrong name and a missing model', async () => {
    const nowhere = await run(['doctor'], { env: { ANTHROPIC_BASE_URL: 'http://127.0.0.1:9', ANTHROPIC_API_KEY: 'k' } })
    expect([nowhere.status, nowhere.stdout]).toEqual([
      1,
      expect.stringContaining('Check the network, the proxy and the base URL.'),
    ])
    const alone = await run(['doctor', '--model', 'gpt-5-pro'], { env: { HALTING_OPENAI_API: 'chat_completions' } })
    expect([alone.status, alone.stdout]).toEqual([
      1,
      expect.stringMatching(/!! {2}model +gpt-5-pro is only served by the Responses API/),
    ])
    const page = await startService(404, '<html>not here</html>')
    const wrong = await run(['doctor'], { env: { ANTHROPIC_BASE_URL: page.url, ANTHROPIC_API_KEY: 'k' } })
    expect([wrong.status, wrong.stdout]).toEqual([
      1,
      expect.stringContaining('it answered 404, which is not a reply of a model service'),
    ])
    expect((await run(['doctor', '--model', 'sonet'])).stdout).toContain('Did you mean sonnet?')
    const { url } = await startService(200, modelList('other-1', 'other-2'))
    const absent = await run(['doctor', '--model', 'openai-compatible/mine'], { env: { OPENAI_BASE_URL: `${url}/v1` } })
    expect([absent.status, absent.stdout]).toEqual([
      1,
      expect.stringContaining(
        'Choose one of its models with --model: openai-compatible/other-1, openai-compatible/other-2',
      ),
    ])
  })

  test("prints a service's text on one line without terminal controls", async () => {
    const { url } = await startService(200, modelList('a\u001B[2J\u202Eb\n!!  fake'))
    const { stdout } = await run(['doctor'], { env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'k' } })
    expect(stdout).toContain('Choose one of its models with --model: ab !! fake\n')
  })

  test('says for a missing or invalid script that no run can start', async () => {
    const { status, stdout } = await run(['doctor', '--script', 'nowhere.json'])
    expect([status, stdout]).toEqual([1, expect.stringMatching(/^!! {2}model .*nowhere\.json/)])
  })

  test('finds a model that its service lists with a folder prefix', async () => {
    const { url } = await startService(200, modelList('models/mine'))
    const { stdout } = await run(['doctor', '--model', 'openai-compatible/mine'], {
      env: { OPENAI_BASE_URL: `${url}/v1` },
    })
    expect(stdout).toContain('responds and has mine')
  })

  test('lists settings files and what is ignored in them', async () => {
    const work = mkdtempSync(join(tmpdir(), 'halting-doctor-'))
    onTestFinished(() => rmSync(work, { recursive: true }))
    mkdirSync(join(work, '.claude'))
    writeFileSync(join(work, '.claude/settings.json'), '{"hooks":{},"permissions":{}}')
    const found = await run(['doctor', '--script', script([{ content: 'Hi.' }])], { cwd: work })
    expect(found.stdout).toContain('.claude/settings.json: nothing in it applies; ignores hooks, permissions')
    writeFileSync(join(work, '.claude/settings.json'), '{')
    const broken = await run(['doctor', '--script', script([{ content: 'Hi.' }])], { cwd: work })
    expect([broken.status, broken.stdout]).toEqual([1, expect.stringMatching(/!! {2}settings .*is not valid JSON/)])
    expect(await run(['-p', 'hi'], { cwd: work })).toMatchObject({ status: 2, stdout: '' })
  })
})

test('removes terminal controls from error messages', async () => {
  const { stderr } = await run(['-p', 'x', '--settings', '\u001B[2Jnowhere'])
  expect(stderr).toBe('halting: --settings takes an existing file or JSON, not "nowhere".\n')
})

test('reports a deleted working directory', () => {
  const gone = mkdtempSync(join(tmpdir(), 'halting-gone-'))
  const commands = `cd '${gone}' && rmdir '${gone}' && exec '${process.execPath}' '${programPath()}' -p hi`
  const { status, stderr } = spawnSync('sh', ['-c', commands], { encoding: 'utf8' })
  expect([status, stderr]).toEqual([
    2,
    'halting: The working directory no longer exists. Change to an existing directory.\n',
  ])
})
