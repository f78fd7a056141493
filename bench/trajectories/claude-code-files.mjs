// The live runs as session files of Claude Code, one file for each session. The texts of the data are heads and tails: the missing part is
// filled with made-up text of the recorded length, so that sizes are real. Nothing of it is written into the repository.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const cwd = '/home/someone/project'
const firstDay = Date.UTC(2026, 0, 5, 9)
/** The time between a result and the next reply. */
const replyMs = 4_000

/**
 * Writes the sessions below `folder`, as in `CLAUDE_CONFIG_DIR`. Returns their number, the runs, the bytes and the recorded dollars.
 * @param {readonly import('./load.mjs').RecordedRun[]} live @param {string} folder
 */
export async function writeClaudeCodeFiles(live, folder) {
  const own = join(folder, 'projects', cwd.replaceAll('/', '-'))
  await mkdir(own, { recursive: true })
  const sum = { sessions: 0, runs: 0, bytes: 0, usd: 0 }
  const sessions = new Map()
  for (const run of live) sessions.set(run.task, [...(sessions.get(run.task) ?? []), run])
  for (const runs of sessions.values()) {
    const id = `00000000-0000-4000-8000-${String(sum.sessions).padStart(12, '0')}`
    const text = sessionText(runs, id, firstDay + sum.sessions * 3_600_000)
    await writeFile(join(own, `${id}.jsonl`), text)
    sum.sessions++
    sum.runs += runs.length
    sum.bytes += Buffer.byteLength(text)
    sum.usd += runs.reduce((usd, run) => usd + (run.usd ?? 0), 0)
  }
  return sum
}

/** One session: its runs, one after another. */
function sessionText(runs, id, beganAt) {
  const session = new SessionLines(id, beganAt)
  for (const run of runs) session.run(run)
  return session.text()
}

class SessionLines {
  #id
  #at
  #lines = []
  #replies = 0

  constructor(id, beganAt) {
    this.#id = id
    this.#at = beganAt
  }

  text() {
    return this.#lines.join('')
  }

  run({ prompt, model, ending, steps }) {
    this.#at += 60_000
    this.#add({ type: 'user', message: { role: 'user', content: prompt || 'Go on.' }, permissionMode: 'default' })
    for (const step of steps) this.#step(step, model, step === steps.at(-1) && ending !== 'completed')
    if (ending !== 'interrupted') return
    const tool = steps.at(-1)?.tool === 'answer' ? '' : ' for tool use'
    this.#add({ type: 'user', message: { role: 'user', content: [{ type: 'text', text: `[Request interrupted by user${tool}]` }] } })
  }

  /** `isCut`: its calls have no results. */
  #step(step, model, isCut) {
    const calls = callsOf(step, `${this.#id.slice(-4)}${this.#replies}`)
    this.#at += replyMs
    const base = { id: `msg_${this.#id}_${this.#replies}`, type: 'message', role: 'assistant', model }
    const stop = { stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn', stop_sequence: null, usage: usageFor(step, model) }
    const requestId = `req_${this.#id}_${this.#replies++}`
    const text = step.text ?? ''
    const blocks = [...(text === '' && calls.length > 0 ? [] : [{ type: 'text', text: text || 'Done.' }]), ...calls.map(({ call }) => call)]
    for (const block of blocks) this.#add({ type: 'assistant', message: { ...base, content: [block], ...stop }, requestId })
    if (isCut) return
    this.#at += step.ms ?? 0
    for (const { call, content } of calls) {
      const isError = step.error === true && call === calls.at(-1)?.call
      const result = { tool_use_id: call.id, type: 'tool_result', content, ...(isError && { is_error: true }) }
      this.#add({ type: 'user', message: { role: 'user', content: [result] }, toolUseResult: detailsOf(call, content) })
    }
  }

  #add(fields) {
    const number = this.#lines.length
    const parentUuid = number === 0 ? null : uuidOf(this.#id, number - 1)
    const place = { isSidechain: false, userType: 'external', cwd, sessionId: this.#id, version: '2.1.37', gitBranch: 'main', slug: 'made-up-name' }
    const timestamp = new Date(this.#at).toISOString()
    const { toolUseResult, ...first } = fields
    const last = toolUseResult === undefined ? {} : { toolUseResult }
    this.#lines.push(`${JSON.stringify({ parentUuid, ...place, ...first, uuid: uuidOf(this.#id, number), timestamp, ...last })}\n`)
  }
}

/** The calls of a step; several calls of one reply are recorded as one. */
function callsOf({ tool, input, output }, prefix) {
  if (tool === 'answer') return []
  const names = tool.split('+')
  const inputs = names.length === 1 ? [inputOf(input)] : inputsOf(input, names.length)
  return names.map((name, index) => {
    const content = part(output, index, names.length)
    return { call: { type: 'tool_use', id: `toolu_${prefix}_${index}`, name, input: inputs[index] }, content }
  })
}

function inputOf({ s, sha, len }) {
  try {
    const value = JSON.parse(s)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // It was cut.
  }
  return { text: filled(s, '', sha, Math.max(0, len - 12)) }
}

function inputsOf({ s, sha, len }, count) {
  try {
    const values = JSON.parse(s)
    if (Array.isArray(values) && values.length === count) return values
  } catch {
    // It was cut.
  }
  const each = Math.ceil(len / count)
  return Array.from({ length: count }, (_, index) => ({ text: filled(index === 0 ? s.slice(0, each) : '', '', `${sha}${index}`, each) }))
}

/** If several results are recorded as one: an equal part for each. */
function part({ head, tail, sha, len }, index, count) {
  if (count === 1) return filled(head, tail, sha, len)
  const each = Math.ceil(len / count)
  return filled(index === 0 ? head.slice(0, each) : '', index === count - 1 ? tail.slice(-each) : '', `${sha}${index}`, each)
}

/** A text of this length with this beginning and end. The same `sha` gives the same text, and another one gives another text. */
function filled(head, tail, sha, length) {
  if (head.length >= length) return head.slice(0, length)
  const end = head.length + tail.length > length ? tail.slice(head.length + tail.length - length) : tail
  const lines = []
  // Files are shown with line numbers and an arrow: one character above Latin-1 doubles the memory of a text.
  const isNumbered = head.includes('→')
  let [left, number] = [length - head.length - end.length, 1]
  while (left > 0) {
    const code = `\tif got := made.${sha.slice(0, 8)}("up", ${number * 7 % 101}); got != nil { return fmt.Errorf("step ${number}: %w", got) }\n`
    const line = isNumbered ? `${String(number).padStart(6)}→${code}` : code
    lines.push(line)
    left -= line.length
    number++
  }
  return head + lines.join('').slice(0, length - head.length - end.length) + end
}

/** Each result is written a second time, for the display of the program. */
function detailsOf({ name, input }, content) {
  if (name === 'Read') return { type: 'text', file: { filePath: input.file_path ?? 'file', content, numLines: 40, startLine: 1, totalLines: 400 } }
  if (name === 'Bash') return { stdout: content, stderr: '', interrupted: false, isImage: false }
  return { mode: 'content', content, numFiles: 1 }
}

const perMillion = {
  'claude-opus': { input: 5, output: 25 },
  'claude-sonnet': { input: 3, output: 15 },
  'claude-haiku': { input: 1, output: 5 },
}

/** Token counts that add up to the recorded tokens and dollars: a part was read from the cache, and the rest was written to it, or is output that was not counted. */
function usageFor({ tokens, usd }, model) {
  const { input, output } = Object.entries(perMillion).find(([name]) => model.startsWith(name))?.[1] ?? perMillion['claude-opus']
  const micros = (usd ?? 0) * 1e6
  const [read, fresh, hour] = [input / 10, input * 1.25, input * 2]
  const written = Math.round(clamped((micros - tokens.out * output - tokens.in * read) / (fresh - read), tokens.in))
  const missing = micros - tokens.out * output - written * fresh - (tokens.in - written) * read
  const ofHour = Math.round(clamped(missing / (hour - fresh), written))
  const more = Math.max(0, Math.round((missing - ofHour * (hour - fresh)) / output))
  return {
    input_tokens: 0,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: tokens.in - written,
    cache_creation: { ephemeral_5m_input_tokens: written - ofHour, ephemeral_1h_input_tokens: ofHour },
    output_tokens: tokens.out + more,
    service_tier: 'standard',
  }
}

function clamped(value, most) {
  return Math.min(most, Math.max(0, value))
}

function uuidOf(id, number) {
  return `${number.toString(16).padStart(8, '0')}-${id.slice(9)}`
}
