// Which of the tool calls of real sessions would pass the input checks of our tools? No tool is executed. See README.md.
// Run: node bench/real-calls.mjs [FILE.jsonl.gz]. Needs a build, and a file of recorded runs.
import { readFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { codingAgent } from '@halting/agent'
import { CallableHook } from '@halting/core'
import { completedInput, parseCutJson } from './lib/cut-json.mjs'
import { heading, table } from './lib/measure.mjs'

const usual = fileURLToPath(new URL('../../shared/data/trajectories/live.jsonl.gz', import.meta.url))
const file = process.argv.slice(2).find((argument) => !argument.startsWith('--')) ?? usual
if (!existsSync(file)) {
  console.error(`There is no file ${file}. Give the path of a .jsonl.gz file of recorded runs (one run a line, with "steps"): node bench/real-calls.mjs FILE`)
  process.exit(2)
}

/** Tools that we have under another name: their calls count as calls of tools that we have. */
const formerNames = new Map([['Task', 'Agent']])

/** Calls of one reply, and of one session: a run that makes no progress ends early. */
const callsPerSession = 200
const reason = 'real-calls: not executed'

/**
 * Every tool call on record. Calls of one message are one step: their names are joined by `+`, and their inputs are one list.
 * @param {string} path
 */
function callsIn(path) {
  const calls = []
  const unseen = new Map()
  for (const line of gunzipSync(readFileSync(path)).toString('utf8').split('\n')) {
    if (line === '') continue
    for (const { tool, input, error } of JSON.parse(line).steps ?? []) {
      if (tool === 'answer' || tool === '?' || input?.s === undefined) continue
      const names = tool.split('+')
      const { value, cut } = parseCutJson(input.s)
      const inputs = names.length > 1 && Array.isArray(value) ? value : [value]
      for (const [index, name] of names.entries()) {
        // What is behind the cut was not recorded.
        if (index >= inputs.length || inputs[index] === undefined) unseen.set(name, (unseen.get(name) ?? 0) + 1)
        else calls.push({ name, input: inputs[index], cut: index === inputs.length - 1 ? cut : undefined, hasFailed: names.length === 1 && error === true })
      }
    }
  }
  return { calls, unseen }
}

/** A home folder with an empty project that has one skill: the tool Skill is there only with one. */
function homeWithProject() {
  const home = mkdtempSync(join(tmpdir(), 'real-calls-'))
  const cwd = join(home, 'project')
  const skill = join(cwd, '.claude/skills/example/SKILL.md')
  mkdirSync(dirname(skill), { recursive: true })
  writeFileSync(skill, '---\nname: example\ndescription: An example\n---\nNothing.\n')
  return { home, cwd }
}

/** A model that makes these calls in one message, then ends. */
function modelThatCalls(calls, onRequest) {
  const usage = { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
  let turn = 0
  return {
    id: 'bench',
    contextWindow: 1_000_000_000,
    maxOutputTokens: 64_000,
    async call(request) {
      onRequest(request)
      const message = { role: 'assistant', id: `msg_${turn}`, model: 'bench', usage }
      if (turn++ > 0 || calls.length === 0)
        return { message: { ...message, content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn' } }
      const content = calls.map(({ name, input }, index) => ({ type: 'tool_use', id: `toolu_${index}`, name, input }))
      return { message: { ...message, content, stop_reason: 'tool_use' } }
    },
  }
}

/** Runs the calls in a session of the coding agent in which a hook denies each valid one. Gives the result of each call. */
async function resultsOf(calls, { home, cwd }, env = {}) {
  const results = new Map()
  let tools = []
  const model = modelThatCalls(calls, (request) => {
    tools = request.tools
    for (const { content } of request.messages)
      for (const block of Array.isArray(content) ? content : [])
        if (block.type === 'tool_result')
          results.set(block.tool_use_id, typeof block.content === 'string' ? block.content : JSON.stringify(block.content))
  })
  const deny = new CallableHook((context) => context.withBlocked(reason), { id: 'deny', triggers: ['beforeToolUse'] })
  const builder = await codingAgent({
    cwd,
    model,
    trust: true,
    settingSources: ['project'],
    persistSession: false,
    permissionMode: 'default',
    canUseTool: async () => ({ behavior: 'deny', message: reason }),
    hooks: [deny],
    env: { PATH: process.env.PATH, HOME: home, ...env },
  })
  const engine = await builder.engine()
  for await (const _ of engine.submit('Go.')) continue
  await builder.dispose()
  return { results: calls.map((_, index) => results.get(`toolu_${index}`)), tools }
}

/** Field names and types: `{"file_path":"a"}` is `file_path: string`. */
function shapeOf(value, depth = 0) {
  if (Array.isArray(value)) return depth > 2 ? '[…]' : `[${[...new Set(value.map((item) => shapeOf(item, depth + 1)))].join(' | ')}]`
  if (value === null || typeof value !== 'object') return value === null ? 'null' : typeof value
  const fields = Object.entries(value).map(([name, field]) => `${name}: ${shapeOf(field, depth + 1)}`)
  return depth > 2 ? '{…}' : `{ ${fields.join(', ')} }`
}

const share = (part, whole) => (whole === 0 ? '–' : `${((100 * part) / whole).toFixed(2)} %`)

const place = homeWithProject()
try {
  const { calls, unseen } = callsIn(file)
  const { tools: usual } = await resultsOf([], place)
  // TodoWrite is accepted, and not in each request.
  const { tools: ofLists } = await resultsOf([], place, { CLAUDE_CODE_ENABLE_TASKS: '0' })
  const schemas = new Map([...ofLists, ...usual].map(({ name, input_schema: wire, inputSchema = wire }) => [name, inputSchema]))
  const schemaOf = (name) => schemas.get(formerNames.get(name) ?? name)
  const rows = new Map()
  const lacking = new Map()
  const refused = new Map()
  const row = (name) => rows.get(name) ?? rows.set(name, { calls: 0, cut: 0, accepted: 0 }).get(name)
  for (let at = 0; at < calls.length; at += callsPerSession) {
    const some = calls.slice(at, at + callsPerSession).map((call) => ({ ...call, input: completedInput(call.input, call.cut, schemaOf(call.name)) }))
    const { results } = await resultsOf(some, place)
    for (const [index, { name, input, cut, hasFailed }] of some.entries()) {
      const result = results[index]
      if (result === undefined) throw new Error(`${name} has no result`)
      if (result.startsWith('There is no tool') && !schemas.has(formerNames.get(name))) {
        lacking.set(name, (lacking.get(name) ?? 0) + 1)
        continue
      }
      const figures = row(name)
      figures.calls++
      if (cut !== undefined) figures.cut++
      if (result.includes(reason)) figures.accepted++
      else {
        const shape = `${name} ${shapeOf(input)}${cut === undefined ? '' : ' (cut)'}`
        const known = refused.get(shape) ?? { count: 0, failed: 0, result }
        refused.set(shape, { ...known, count: known.count + 1, failed: known.failed + (hasFailed ? 1 : 0) })
      }
    }
  }
  heading('Calls of real sessions')
  const byCalls = [...rows].toSorted(([, a], [, b]) => b.calls - a.calls)
  console.log(table(['tool', 'calls', 'of these cut', 'accepted', 'share'], byCalls.map(([name, { calls: all, cut, accepted }]) => [name, `${all}`, `${cut}`, `${accepted}`, share(accepted, all)])))
  console.log('\nA cut input ends after 300 characters: its last string counts as one that goes on, required fields behind the cut are filled in, and other fields there are not checked.')
  if (unseen.size > 0) console.log(`Calls behind a cut, whose input is not on record (not counted): ${listOf(unseen)}.`)
  console.log('\nRefused calls: how many, tool, field names and types, and the first error\n')
  if (refused.size === 0) console.log('(none)')
  for (const [shape, { count, failed, result }] of [...refused].toSorted(([, a], [, b]) => b.count - a.count)) console.log(`- ${count} × ${shape.slice(0, 300)}${failed > 0 ? ` (${failed} failed in their session, too)` : ''}\n  ${result.slice(0, 300)}`)
  console.log(`\nTools that we lack, with calls: ${lacking.size === 0 ? '(none)' : listOf(lacking)}.`)
  const all = byCalls.reduce((sum, [, figures]) => sum + figures.calls, 0)
  const accepted = byCalls.reduce((sum, [, figures]) => sum + figures.accepted, 0)
  console.log(`\nAccepted of tools that we have: ${accepted} of ${all}, ${share(accepted, all)}`)
} finally {
  rmSync(place.home, { recursive: true, force: true })
}

function listOf(counts) {
  return [...counts].toSorted(([, a], [, b]) => b - a).map(([name, count]) => `${name} ${count}`).join(', ')
}
