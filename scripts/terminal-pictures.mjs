// Takes pictures of the interactive program in a real terminal: SVG into docs/pictures, and the screens as text into docs/guide/interactive.md. Needs tmux and
// a build.
//
//   node scripts/terminal-pictures.mjs [--program packages/cli/bin/halting.js]
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { sequences, svgOf } from './screen-svg.mjs'

const root = resolve(import.meta.dirname, '..')
const { values } = parseArgs({ options: { program: { type: 'string' } } })
const program = resolve(values.program ?? join(root, 'packages/cli/bin/halting.js'))
const guide = join(root, 'docs/guide/interactive.md')
const pictures = join(root, 'docs/pictures')

const patienceMs = 60_000
const usage = (input, output) => ({ input_tokens: input, output_tokens: output })
const call = (name, input) => ({ type: 'tool_use', name, input })

const files = {
  'src/wait.ts':
    'export async function until(check: () => boolean): Promise<void> {\n  while (!check()) await sleep(10)\n}\n',
  'test/run.test.ts':
    "import { expect, test } from 'vitest'\nimport { run } from '../src/run.ts'\n\ntest('runs', async () => {\n  const done = run()\n  await sleep(10)\n  expect(done.ended).toBe(true)\n})\n",
  'CHANGELOG.md': '# Changelog\n',
}
const todos = (first, second) => ({
  todos: [
    { content: 'find why the test is flaky', status: first, activeForm: 'Finding' },
    { content: 'update the changelog', status: second, activeForm: 'Updating' },
  ],
})

const scenarios = [
  {
    name: 'running',
    title: 'A run in progress. A message that steers and one that is queued stand above the stop panel:',
    rows: 30,
    flags: '--max-turns 40 --max-budget-usd 1 --permission-mode acceptEdits --allowedTools Bash',
    replies: [
      {
        content: [
          'I look at the test, and at what it waits with.',
          call('Read', { file_path: 'test/run.test.ts' }),
          call('Grep', { pattern: 'sleep', path: 'src' }),
          call('TodoWrite', todos('in_progress', 'pending')),
        ],
        usage: usage(3_000, 900),
      },
      {
        content: [
          'The test waits for **a fixed time**. It should wait for what it is about:\n\n```ts\nawait until(() => done.ended)\n```',
          call('Edit', {
            file_path: 'test/run.test.ts',
            old_string: '  await sleep(10)',
            new_string: '  await until(() => done.ended)',
          }),
        ],
        usage: usage(3_400, 1_200),
      },
      {
        content: [
          'Now ten times in a row.',
          call('Bash', { command: 'for i in 1 2 3; do echo "run $i: ok"; sleep 1; done; sleep 20' }),
        ],
        usage: usage(3_900, 400),
      },
    ],
    steps: [
      { until: '? keys', text: 'fix the flaky test', keys: ['Enter'] },
      { until: 'run 1: ok', text: 'leave src as it is', keys: ['Enter'] },
      { until: 'for the next turn', text: 'then update the changelog', keys: ['M-Enter'] },
      { until: 'run 3: ok', text: 'and' },
    ],
    shot: /> and/,
  },
  {
    name: 'limit',
    title: 'A run that a limit has ended: why, with the figures, what is not done, and what can be done next:',
    rows: 24,
    flags: '--max-turns 2 --max-budget-usd 1 --permission-mode acceptEdits --allowedTools Bash',
    replies: [
      {
        content: [
          'I look at the test.',
          call('Read', { file_path: 'test/run.test.ts' }),
          call('TodoWrite', todos('in_progress', 'pending')),
        ],
        usage: usage(3_000, 900),
      },
      {
        content: [
          call('Edit', {
            file_path: 'test/run.test.ts',
            old_string: '  await sleep(10)',
            new_string: '  await until(() => done.ended)',
          }),
          call('TodoWrite', todos('completed', 'pending')),
        ],
        usage: usage(3_400, 1_200),
      },
    ],
    steps: [{ until: '? keys', text: 'fix the flaky test', keys: ['Enter'] }],
    shot: /\[max_turns\][\s\S]*\? keys/,
  },
  {
    name: 'question',
    title:
      'A question about a command, part by part; what no rule covers is marked, and the rule that would cover it is offered:',
    rows: 16,
    flags: '--max-budget-usd 1 --allowedTools "Bash(npm test *)"',
    replies: [
      {
        content: [
          'I run the tests and put the change on a branch.',
          call('Bash', { command: 'npm test -- run && git push -u origin flaky', description: 'Test, then push' }),
        ],
        usage: usage(3_000, 900),
      },
    ],
    steps: [{ until: '? keys', text: 'test it, then push', keys: ['Enter'] }],
    shot: /y yes|n no/,
  },
]

const run = promisify(execFile)
// A server of its own, so that other uses of tmux on this machine are not affected.
const socket = `halting-pictures-${process.pid}`
const utf8 = { LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' }
const tmux = async (...args) =>
  (await run('tmux', ['-u', '-L', socket, '-f', '/dev/null', ...args], { env: { ...process.env, ...utf8 } })).stdout
const columns = 92

/** The screen of one scenario, with its colours. */
async function taken({ name, rows, flags, replies, steps, shot }) {
  const home = mkdtempSync(join(tmpdir(), 'halting-pictures-'))
  const folder = join(home, 'project')
  try {
    for (const [path, content] of Object.entries({
      ...files,
      '../script.json': JSON.stringify({ model: 'claude-sonnet-5-5', replies }),
    })) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), content)
    }
    const env = { PATH: process.env.PATH, HOME: home, TERM: 'screen-256color', ...utf8 }
    const settings = Object.entries(env).map(([key, value]) => `${key}=${value}`)
    const command = `exec "${process.execPath}" "${program}" --theme dark --script ../script.json ${flags}`
    const size = ['-x', String(columns), '-y', String(rows)]
    await tmux('new-session', '-d', '-s', name, ...size, '-c', folder, 'env', '-i', ...settings, 'sh', '-c', command)
    for (const { until, text, keys = [] } of steps) {
      await sees(name, (screen) => screen.includes(until), until)
      await tmux('send-keys', '-t', name, '-l', text)
      if (keys.length > 0) await tmux('send-keys', '-t', name, ...keys)
    }
    await sees(name, (screen) => shot.test(screen), String(shot))
    await wait(300)
    return await tmux('capture-pane', '-e', '-p', '-t', name)
  } finally {
    await tmux('kill-session', '-t', name).catch(() => undefined)
    rmSync(home, { recursive: true, force: true })
  }
}

async function sees(name, isThere, what) {
  const deadline = performance.now() + patienceMs
  for (;;) {
    const screen = await tmux('capture-pane', '-p', '-t', name)
    if (isThere(screen)) return
    if (performance.now() > deadline) throw new Error(`${name}: "${what}" did not come. The screen:\n${screen}`)
    await wait(50)
  }
}

/** This program writes the text between the two marks of the guide. */
function writeGuide(sections) {
  const text = readFileSync(guide, 'utf8')
  const [before, after] = [text.indexOf('<!-- screens -->'), text.indexOf('<!-- end of the screens -->')]
  if (before < 0 || after < before) throw new Error(`${guide} has no place for the screens.`)
  writeFileSync(guide, `${text.slice(0, before)}<!-- screens -->\n\n${sections.join('\n')}\n${text.slice(after)}`)
}

try {
  mkdirSync(pictures, { recursive: true })
  const sections = []
  for (const scenario of scenarios) {
    const screen = await taken(scenario)
    writeFileSync(join(pictures, `${scenario.name}.svg`), svgOf(screen, { columns, title: scenario.title }))
    const plain = screen.replaceAll(sequences, '').replaceAll(/ +$/gm, '').trimEnd()
    // The screen may contain a fence of its own.
    const fence = plain.includes('```') ? '````' : '```'
    sections.push(`${scenario.title}\n\n${fence}text\n${plain.replace(/^\n+/, '')}\n${fence}\n`)
  }
  writeGuide(sections)
} finally {
  await tmux('kill-server').catch(() => undefined)
}
