// Has an independent client of the editor protocol talk to `halting acp`: acpx from npm, on the newest LTS Node that npm has.
// Checks its output as a person would read it. Needs a build. The numbers of passed, failed and skipped checks are in
// .tmp/editor-client.json.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPackages } from './install-packages.mjs'
import { newestNode } from './node-binaries.mjs'
import { root } from './packages.mjs'
import { reportChecks } from './report-checks.mjs'

const version = '0.19.1'
const patienceMs = 120_000

const home = realpathSync(mkdtempSync(join(tmpdir(), 'halting-editor-client-')))
const work = join(home, 'work')
const program = fileURLToPath(new URL('packages/cli/bin/halting.js', root))

const write = { type: 'tool_use', name: 'Write', input: { file_path: 'made.txt', content: 'made\n' } }
const look = { type: 'tool_use', name: 'Glob', input: { pattern: '*' } }

/** For each check: the model's replies, further flags of `halting acp`, the format, and what must be true of the output. */
const checks = {
  'a file is written through it, and the prompt ends': {
    replies: [{ content: ['I write.', write] }, { content: 'Done.' }],
    format: 'json',
    isMet: ({ status, messages }) =>
      status === 0 &&
      answers(messages).includes('end_turn') &&
      existsSync(join(work, 'made.txt')) &&
      openCalls(messages).length === 0,
  },
  'a limit is reported as its stop reason, and in words': {
    replies: [{ content: ['I look.', look] }, { content: [look] }, { content: [look] }],
    flags: ['--max-turns', '2'],
    format: 'json',
    isMet: ({ messages, stdout }) =>
      answers(messages).includes('max_turn_requests') && stdout.includes('max_turns: Reached'),
  },
  'a person who reads it sees why it stopped': {
    replies: [{ content: ['I look.', look] }],
    flags: ['--max-turns', '1'],
    format: 'text',
    isMet: ({ stdout }) => stdout.includes('max_turns: Reached maximum number of turns (1)'),
  },
}

try {
  const { failed } = reportChecks('editor-client', outcomes())
  process.exitCode = failed === 0 ? 0 : 1
} finally {
  rmSync(home, { recursive: true, force: true })
}

function outcomes() {
  const node = newestNode()
  const client = node.why === undefined ? installed() : node
  return Object.entries(checks).map(([title, check], index) => {
    if (client.why !== undefined) return { title, kind: 'skipped', why: client.why }
    const came = run(check, index, node)
    return check.isMet(came)
      ? { title, kind: 'passed' }
      : { title, kind: 'failed', why: `exit ${came.status}\n${came.stdout}\n${came.stderr}` }
  })
}

function installed() {
  const { why } = installPackages(home, [`acpx@${version}`], { patienceMs })
  return why === undefined ? {} : { why: `acpx cannot be had (${why})` }
}

function run({ replies, flags = [], format }, index, { bin }) {
  mkdirSync(work, { recursive: true })
  const script = join(home, `script-${index}.json`)
  writeFileSync(script, JSON.stringify({ replies }))
  // The agent runs on the Node of this process, and the client on its own.
  const agent = [process.execPath, program, 'acp', '--script', script, ...flags].join(' ')
  const client = join(home, 'node_modules', '.bin', 'acpx')
  const parameters = [
    '--agent',
    agent,
    '--approve-all',
    '--cwd',
    work,
    '--format',
    format,
    '--timeout',
    '60',
    'exec',
    'Do it.',
  ]
  const { status, stdout, stderr } = spawnSync(client, parameters, {
    cwd: work,
    env: { PATH: `${bin}${delimiter}${process.env.PATH}`, HOME: home },
    encoding: 'utf8',
    timeout: patienceMs,
    killSignal: 'SIGKILL',
  })
  return { status, stdout, stderr, messages: messagesIn(stdout) }
}

/** The lines of the output that are JSON: the exchange, one message per line. */
function messagesIn(stdout) {
  return stdout.split('\n').flatMap((line) => {
    try {
      return [JSON.parse(line)]
    } catch {
      return []
    }
  })
}

function answers(messages) {
  return messages.map((message) => message?.result?.stopReason).filter((reason) => reason !== undefined)
}

/** Calls that were announced and did not end. */
function openCalls(messages) {
  const status = new Map()
  for (const message of messages) {
    const update = message?.params?.update
    if (update?.toolCallId !== undefined) status.set(update.toolCallId, update.status ?? status.get(update.toolCallId))
  }
  return [...status].filter(([, last]) => last !== 'completed' && last !== 'failed')
}
