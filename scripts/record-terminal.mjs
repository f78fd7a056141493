// Records what a person sees of `halting -p` in a real terminal, as docs/guide/terminal.md. Needs tmux and a build.
//
//   node scripts/record-terminal.mjs [--program packages/cli/bin/halting.js] [--out docs/guide/terminal.md]
import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import { scenarios } from './terminal-scenarios.mjs'

const root = resolve(import.meta.dirname, '..')
const { values } = parseArgs({ options: { program: { type: 'string' }, out: { type: 'string' } } })
const program = resolve(values.program ?? join(root, 'packages/cli/bin/halting.js'))
const out = resolve(values.out ?? join(root, 'docs/guide/terminal.md'))

const widths = [80, 40]
const height = 24
const atOnce = 3
/** How long a screen may take to show an expected text. */
const patienceMs = 60_000

const run = promisify(execFile)
// A server of its own, so that other uses of tmux on this machine are not affected.
const socket = `halting-record-${process.pid}`
const utf8 = { LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' }
const tmux = async (...args) =>
  (await run('tmux', ['-u', '-L', socket, '-f', '/dev/null', ...args], { env: { ...process.env, ...utf8 } })).stdout

/** Runs one scenario in a terminal of this width. Returns its screens; the last one is taken when it has ended. */
async function record({ name, command, files = {}, env = {}, moments = [] }, width) {
  const folder = mkdtempSync(join(tmpdir(), 'halting-terminal-'))
  const session = `${name}-${width}`
  try {
    prepare(folder, command, files)
    const clean = { PATH: `${join(folder, '.bin')}:${process.env.PATH}`, HOME: join(folder, '.home'), ...utf8, ...env }
    const settings = Object.entries(clean).map(([key, value]) => `${key}=${value}`)
    const size = ['-x', String(width), '-y', String(height)]
    const shell = ['env', '-i', ...settings, 'TERM=screen', 'sh', join(folder, '.run')]
    await tmux('new-session', '-d', '-s', session, ...size, '-c', folder, ...shell)
    const screens = []
    for (const { until, keys, title } of moments) {
      const screen = await screenWith(session, (text) => until.test(text), until)
      if (title !== undefined) screens.push({ title, screen })
      if (keys !== undefined) await tmux('send-keys', '-t', session, keys)
    }
    const screen = await screenWith(session, (text) => /\[exit \d+\]$/.test(text), 'the end')
    return [...screens, { title: 'At the end:', screen }]
  } finally {
    await tmux('kill-session', '-t', session).catch(() => undefined)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The files of the folder, the program by its name, and a shell that runs the command as it is shown. */
function prepare(folder, command, files) {
  for (const [path, content] of Object.entries({
    ...files,
    '.bin/halting': `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`,
    '.run': `trap : INT\ncat .shown\n${command}\necho "[exit $?]"\nsleep 600\n`,
    '.shown': `$ ${command}\n`,
    '.home/empty': '',
  })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  chmodSync(join(folder, '.bin/halting'), 0o755)
}

async function screenWith(session, isThere, what) {
  const deadline = performance.now() + patienceMs
  for (;;) {
    const screen = await screenOf(session)
    if (isThere(screen)) return screen
    if (performance.now() > deadline) throw new Error(`${session}: "${what}" did not come. The screen:\n${screen}`)
    await wait(50)
  }
}

async function screenOf(session) {
  return (await tmux('capture-pane', '-p', '-t', session)).replaceAll(/ +$/gm, '').trimEnd()
}

/** Runs all scenarios at all widths, some in parallel. Returns them in order. */
async function recordAll() {
  const tasks = scenarios.flatMap((scenario) => widths.map((width) => ({ scenario, width })))
  const recorded = new Map()
  const worker = async () => {
    for (let task = tasks.shift(); task !== undefined; task = tasks.shift()) {
      recorded.set(`${task.scenario.name}-${task.width}`, await record(task.scenario, task.width))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return recorded
}

function document(recorded) {
  const sections = scenarios.map(({ name, title, text }) => {
    const screens = widths.flatMap((width) =>
      recorded
        .get(`${name}-${width}`)
        .map((shot) => `${width} columns. ${shot.title}\n\n\`\`\`text\n${shot.screen}\n\`\`\`\n`),
    )
    return `## ${title}\n\n${text}\n\n${screens.join('\n')}`
  })
  return `${introduction}\n${sections.join('\n')}`
}

const introduction = `# In a terminal

The interactive program, \`halting\`, has [its own guide](interactive.md): [a run in progress](../pictures/running.svg), [a limit, and how to continue](../pictures/limit.svg), [a question](../pictures/question.svg), every key and command.

![A run in progress in the interactive program](../pictures/running.svg)

The rest of this page shows the output of \`halting -p\` for a person. The screens were recorded in a real terminal by \`node scripts/record-terminal.mjs\`. A test records them again and compares everything except the times.
The model is scripted; everything else is real. The rules are in [the specification](../spec/terminal.md#what-a-person-sees).
`

try {
  writeFileSync(out, document(await recordAll()))
} finally {
  await tmux('kill-server').catch(() => undefined)
}
