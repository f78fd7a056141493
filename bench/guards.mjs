// What the guard against repetition adds to a turn: it hashes calls and outputs, and searches for cycles. See README.md.
// Run: node bench/guards.mjs [--repeats=7] [--before=FOLDER] [--only=hash|loop|records]. Needs a build; --before names the `dist` of core of
// another build, which is measured in turns with this one.
import { spawnSync } from 'node:child_process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { resolve } from 'node:path'
import { heading, median, numberOf, table, textOf } from './lib/measure.mjs'

const here = fileURLToPath(import.meta.url)
const now = fileURLToPath(new URL('../packages/core/dist', import.meta.url))

/** Outputs of tools, by the work that masking has with them. */
const lines = {
  code: (n) => `export function step${n}(list: readonly string[]): string { return list.filter(isWord).map(shown).join(', ') }`,
  log: (n) => `2026-11-29T10:${String(n % 60).padStart(2, '0')}:07.${String((n * 37) % 1000).padStart(3, '0')}Z [${4000 + n}] GET /api/items/${n * 7919} 200 ${n % 97}ms /tmp/run-${(n * 2654435761 >>> 0).toString(16)}/out`,
  words: () => 'The quick brown fox jumps over the lazy dog while nobody looks, and then it does so once more for good measure.',
}
const sizes = { '2 kB': 2_000, '30 kB': 30_000 }

const [what, folder, ...words] = process.argv.slice(2)
if (what === 'child') process.stdout.write(JSON.stringify(await measure(folder, words)))
else await report()

async function report() {
  heading('Guards against repetition')
  const repeats = numberOf('repeats', 7)
  const builds = [['now', now]]
  const before = textOf('before', '')
  if (before !== '') builds.unshift(['before', resolve(before)])
  const only = textOf('only', '')
  if (only === '' || only === 'hash') hashes(builds, repeats)
  if (only === '' || only === 'loop') loops(builds, repeats)
  if (only === '' || only === 'records') records(builds)
}

function hashes(builds, repeats) {
  console.log('CPU of hashing a turn with one call, entering it and looking for cycles, compiled; µs, least (median) of fresh processes in turns.\n')
  const cases = Object.keys(lines).flatMap((kind) => Object.keys(sizes).flatMap((size) => ['fresh', 'cycles'].map((how) => [kind, size, how])))
  const rows = cases.map((each) => {
    const taken = inTurns(builds, repeats, ['hash', ...each])
    return [`${each[0]}, ${each[1]}, ${each[2]}`, ...builds.map(([name]) => leastAndMedian(taken.get(name)))]
  })
  console.log(table(['outputs', ...builds.map(([name]) => name)], rows) + '\n')
}

function loops(builds, repeats) {
  console.log('CPU of a whole turn of the loop, µs, least (median): with `noProgress: "stop"`, and without the guard.\n')
  const cases = Object.keys(lines).flatMap((kind) => Object.keys(sizes).map((size) => [kind, size]))
  const ways = builds.flatMap(([name, path]) => ['stop', 'off'].map((policy) => [`${name}, ${policy}`, path, policy]))
  const rows = cases.map((each) => {
    const taken = new Map(ways.map(([name]) => [name, []]))
    for (let repeat = 0; repeat < repeats; repeat++) for (const [name, path, policy] of ways) taken.get(name).push(inChild(path, ['loop', ...each, policy]))
    return [each.join(', '), ...ways.map(([name]) => leastAndMedian(taken.get(name)))]
  })
  console.log(table(['outputs', ...ways.map(([name]) => name)], rows) + '\n')
}

function records(builds) {
  console.log('Bytes of a record of an iteration (the median of 200 turns, as JSON), with and without the guard.\n')
  const rows = ['stop', 'off'].map((policy) => [policy, ...builds.map(([, path]) => String(inChild(path, ['records', policy])))])
  console.log(table(['', ...builds.map(([name]) => name)], rows))
}

function leastAndMedian(values) {
  return `${Math.min(...values).toFixed(1)} (${median(values).toFixed(1)})`
}

function inTurns(builds, repeats, parameters) {
  const taken = new Map(builds.map(([name]) => [name, []]))
  for (let repeat = 0; repeat < repeats; repeat++) for (const [name, path] of builds) taken.get(name).push(inChild(path, parameters))
  return taken
}

function inChild(path, parameters) {
  const child = spawnSync(process.execPath, [here, 'child', path, ...parameters], { encoding: 'utf8' })
  if (child.status !== 0) throw new Error(child.stderr)
  return JSON.parse(child.stdout)
}

async function measure(core, [which, ...rest]) {
  const from = (entry) => import(pathToFileURL(resolve(core, entry)).href)
  if (which === 'hash') return hashed(await from('entries/steps.js'), ...rest)
  if (which === 'loop') return looped(await from('index.js'), ...rest)
  return recorded(await from('index.js'), await from('entries/steps.js'), ...rest)
}

/** Forty different texts, each a flat string, like an output that was read from a process. */
function textsOf(kind, size) {
  return Array.from({ length: 40 }, (_, index) => {
    let text = `output ${index}\n`
    for (let n = index; text.length < sizes[size]; n++) text += `${lines[kind](n)}\n`
    return Buffer.from(text.slice(0, sizes[size])).toString('latin1')
  })
}

/** `cycles`: the same eight turns twice, then others, so that nothing is found and everything is compared. */
function hashed({ turnHash, withNewest, nearestCycle }, kind, size, how) {
  const texts = textsOf(kind, size)
  const times = size === '2 kB' ? 20_000 : 3_000
  const play = (count) => {
    let recent = []
    let longest = 0
    for (let turn = 0; turn < count; turn++) {
      const place = how === 'cycles' ? (turn % 8) + ((turn >> 4) % 5) * 8 : turn
      const call = { type: 'tool_use', id: `call_${turn}`, name: 'Bash', input: { command: `npm test -- ${how === 'cycles' ? place : turn}` } }
      const result = { type: 'tool_result', tool_use_id: call.id, content: texts[place % texts.length] }
      recent = withNewest(recent, turnHash([call], [result], false))
      longest = Math.max(longest, nearestCycle(recent, 5)?.repeats ?? 0)
    }
    return longest
  }
  play(times / 4)
  const began = process.cpuUsage()
  play(times)
  const { user, system } = process.cpuUsage(began)
  return (user + system) / times
}

async function looped(core, kind, size, policy) {
  const turns = size === '2 kB' ? 3_000 : 1_500
  await play(core, turns / 2, textsOf(kind, size), policy)
  const began = process.cpuUsage()
  await play(core, turns, textsOf(kind, size), policy)
  const { user, system } = process.cpuUsage(began)
  return (user + system) / turns
}

async function recorded(core, steps, policy) {
  const kept = core.createMemorySteps()
  await play(core, 200, textsOf('log', '2 kB'), policy, { steps: kept })
  const iterationLengths = kept.records.flatMap((record) => (record.type === 'lap' ? [JSON.stringify(record).length] : []))
  return median(iterationLengths)
}

async function play({ streamRun, startRun }, count, texts, noProgress, options = {}) {
  const usage = { input_tokens: 10, output_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
  let turn = 0
  const model = {
    id: 'bench',
    contextWindow: 1_000_000_000,
    maxOutputTokens: 64_000,
    async call(_request, { emit }) {
      const id = `msg_${turn}`
      const isLast = turn >= count
      const block = isLast ? { type: 'text', text: 'Done.' } : { type: 'tool_use', id: `call_${turn}`, name: 'Bash', input: { command: `npm test -- ${turn}` } }
      turn++
      emit({ type: 'block', index: 0, block, messageId: id })
      return { message: { role: 'assistant', id, model: 'bench', content: [block], stop_reason: isLast ? 'end_turn' : 'tool_use', usage } }
    },
  }
  const inputSchema = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] }
  const execute = async () => texts[turn % texts.length]
  const tool = { name: 'Bash', description: 'Runs a command.', inputSchema, readOnly: true, maxResultChars: 100_000, execute }
  const { reason } = await streamRun(startRun({ prompt: 'Go.' }), { model, tools: [tool], maxTurns: count + 1, noProgress, ...options }).result
  if (reason !== 'completed') throw new Error(`The run ended as ${reason}.`)
}
