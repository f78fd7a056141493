// One session of a soak: opens and runs it, breaks it off if its scenario says so, resumes it, and checks it afterwards.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { codingAgent } from '@halting/agent'
import { readJournal, sessionFile } from '@halting/journal'
import { foldSession } from '@halting/core/steps'
import { transcriptProblems } from '@halting/core/testing'
import { scriptedModel } from '@halting/models/scripted'
import { markVariable, processesOf } from './look.mjs'

const program = fileURLToPath(new URL('../../packages/cli/bin/halting.js', import.meta.url))

/**
 * Plays a scenario in folders of its own. Returns what is wrong.
 * @param {import('./scenarios.mjs').Scenario} scenario
 * @param {{ folder: string, template: string, mark: string, web: string, kept: WeakRef<object>[], sessionId?: string }} place
 * @returns {Promise<{ readonly runs: number, readonly problems: readonly string[] }>}
 */
export async function playSession(scenario, place, isProgram) {
  const session = {
    ...place,
    id: place.sessionId ?? randomUUID(),
    cwd: join(place.folder, 'project'),
    home: join(place.folder, 'home'),
  }
  mkdirSync(session.home, { recursive: true })
  cpSync(join(place.template, scenario.project ?? 'plain'), session.cwd, { recursive: true })
  session.env = {
    PATH: process.env.PATH,
    HOME: session.home,
    TMPDIR: process.env.TMPDIR,
    [markVariable]: `${place.mark}-${session.id}`,
    HALTING_PRIVATE_HOSTS: '127.0.0.1',
  }
  const problems = []
  try {
    const play = isProgram ? programLife : embeddedLife
    const lives = [scenario.replies, ...(scenario.after === undefined ? [] : [scenario.after])]
    for (const [at, replies] of lives.entries()) problems.push(...(await play(scenario, session, { replies, at })))
  } catch (thrown) {
    problems.push(`it threw: ${thrown instanceof Error ? thrown.stack : String(thrown)}`)
  }
  const found = await lookAt(scenario, session).catch((thrown) => ({ runs: 0, problems: [String(thrown)] }))
  return { runs: found.runs, problems: [...problems, ...found.problems] }
}

async function embeddedLife(scenario, session, { replies, at }) {
  const { id, cwd, env } = session
  const service = await scriptedModel({ model: 'claude-sonnet-5-5', replies }, { variables: { web: session.web } })
  const builder = await codingAgent({
    cwd,
    env,
    model: service.model,
    permissionMode: 'bypassPermissions',
    settingSources: [],
    ...optionsOf(scenario, session),
    ...(at === 0 ? { sessionId: id } : { resume: id }),
  })
  const engine = await builder.engine()
  session.kept.push(new WeakRef(builder), new WeakRef(engine), new WeakRef(service.model))
  const results = []
  const breaks = at === 0 ? scenario.breaks : undefined
  const reading = read(engine, results, breaks === 'leave' ? hasBegun(session) : undefined)
  if (breaks !== undefined && breaks !== 'leave') {
    await hasBegun(session)
    // Whatever it does at that time.
    await wait(Math.random() * 100)
    if (breaks === 'interrupt') engine.interrupt()
    else await builder.dispose()
  }
  await reading
  await builder.dispose()
  await service.close()
  const wanted = breaks === 'leave' ? 0 : 1
  return results.length === wanted ? [] : [`${results.length} results in place of ${wanted}`]
}

/** Fills in the address of the soak's own server, which is only known at run time. */
const optionsOf = ({ options = {} }, { web }) =>
  options.mcpServers?.web === undefined
    ? options
    : { ...options, mcpServers: { ...options.mcpServers, web: { ...options.mcpServers.web, url: `${web}/mcp` } } }

/** Reads to the end, or leaves when the run has begun. */
async function read(engine, results, leaves) {
  const messages = engine.submit('go')
  const isTime = leaves?.then(() => 'time')
  for (;;) {
    const next = messages.next()
    const first = isTime === undefined ? await next : await Promise.race([next, isTime])
    if (first === 'time') {
      await Promise.all([messages.return(), next])
      return
    }
    if (first.done === true) return
    if (first.value.type === 'result') results.push(first.value)
  }
}

async function programLife(scenario, session, { replies, at }) {
  const { id, cwd, env, folder } = session
  const script = join(folder, `script-${at}.json`)
  writeFileSync(script, JSON.stringify({ model: 'claude-sonnet-5-5', replies }))
  const args = [
    '-p',
    'go',
    '--output-format',
    'stream-json',
    '--verbose',
    '--script',
    script,
    '--dangerously-skip-permissions',
  ]
  if (scenario.options?.mcpServers !== undefined)
    args.push('--mcp-config', JSON.stringify({ mcpServers: scenario.options.mcpServers }))
  args.push(...(at === 0 ? ['--session-id', id] : ['--resume', id]))
  const child = spawn(process.execPath, [program, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => (said[name] += text))
  const ended = once(child, 'close')
  const breaks = at === 0 ? scenario.breaks : undefined
  if (breaks !== undefined) {
    await Promise.race([hasBegun(session), ended])
    await wait(Math.random() * 100)
    child.kill(breaks === 'kill' ? 'SIGKILL' : 'SIGTERM')
  }
  if (breaks === 'kill') {
    // A pipe stays open while a command has it. Only this process can end the commands that the killed program had started.
    await once(child, 'exit').catch(() => undefined)
    for (const { pid } of processesOf(env[markVariable])) endIfThere(pid)
  }
  const [code] = await ended
  if (breaks === 'kill') return []
  const results = said.stdout.split('\n').filter((line) => line.includes('"type":"result"')).length
  const isRight = results === 1 && (breaks === 'terminate' ? code !== 0 : code === 0)
  return isRight ? [] : [`${results} results, exit code ${code}: ${said.stderr.slice(-500)}`]
}

function endIfThere(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

async function hasBegun({ cwd }) {
  while (!existsSync(join(cwd, 'started'))) await wait(10)
}

/** Checks the files: the session can be read, its runs ended as expected, and a service would accept its conversation. */
export async function lookAt({ ends, breaks, after, shows = [] }, { id, cwd, home, env }) {
  const problems = []
  const { runs, tornBytes } = await readJournal(sessionFile({ cwd, sessionId: id, home, env }))
  const { transcript, open, ended } = foldSession(runs)
  if (open !== undefined) problems.push('a run has no end')
  if (tornBytes > 0) problems.push(`${tornBytes} bytes of a line that is not whole`)
  const wanted = after === undefined ? 1 : undefined
  if (wanted !== undefined && ended.length !== wanted) problems.push(`${ended.length} runs in place of ${wanted}`)
  for (const records of runs) {
    const count = records.filter(({ type, scope }) => type === 'end' && scope === '').length
    if (count !== 1) problems.push(`a run with ${count} endings`)
  }
  for (const { terminal } of ended)
    if (!ends.includes(terminal.reason)) problems.push(`a run ended as ${terminal.reason} (${terminal.message ?? ''})`)
  if (breaks !== undefined && after !== undefined && ended.at(-1)?.terminal.reason !== 'completed')
    problems.push('it did not go on to its end')
  const messages = transcript.messages()
  problems.push(...transcriptProblems(messages).map(String))
  const text = JSON.stringify(messages)
  for (const one of shows) if (!text.includes(one)) problems.push(`nowhere: ${one}`)
  return { runs: ended.length, problems }
}
