import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { HaltingError, type ContentBlock, type MessageContent } from '@halting/core'
import { isToolUse, noUsage } from '@halting/core/adapters'
import {
  recordsOfForeign,
  type ForeignResult,
  type ForeignRun,
  type ForeignMessage,
  type ForeignTurn,
} from './foreign-run.ts'
import { makeDurableFolder, moveInto } from '@halting/journal/files'
import {
  copySession,
  lockSession,
  openNewJournal,
  payloadsFolder,
  workingCopiesOf,
  type JournalOptions,
} from '@halting/journal'
import { programNames, type ForeignProgram, type ForeignSession } from './session.ts'

/**
 * Creates a session with the conversation of another program's session, whose file is not changed. Its cost is not counted: who paid for it is
 * unknown.
 * @throws HaltingError `driver` for an empty conversation, and for errors of the file system; then no session is created.
 */
export async function takeOver(session: ForeignSession, options: JournalOptions): Promise<void> {
  const runs = sendableRuns(session)
  if (runs.length === 0)
    throw new HaltingError(
      'driver',
      `The session ${session.path} of ${programNames[session.program]} is empty: there is nothing to continue.`,
    )
  await makeDurableFolder(dirname(options.path))
  // A store writes all of it at once.
  if (workingCopiesOf(options.path) !== undefined) return writeToTemporaryFile(runs, options)
  const lock = await lockSession(options.path, options.sessionId)
  try {
    if (existsSync(options.path))
      throw new HaltingError('driver', `The session ${options.sessionId} already exists. Continue that one.`)
    await writeToTemporaryFile(runs, options)
  } finally {
    await lock.release()
  }
}

/** Writes to a temporary folder first, so that a process that dies leaves no incomplete session. */
async function writeToTemporaryFile(runs: readonly ForeignRun[], options: JournalOptions): Promise<void> {
  const aside = join(dirname(options.path), `.${basename(options.path, extname(options.path))}.part`)
  // Left by a process that died.
  await rm(aside, { recursive: true, force: true })
  try {
    const path = join(aside, basename(options.path))
    const journal = await openNewJournal({ ...options, path })
    try {
      for (const run of runs) {
        const own = { ...run, run: { ...run.run, sessionId: options.sessionId, isCopy: true as const } }
        for (const record of recordsOfForeign(own, noPrices).records) journal.log.append(record)
      }
      await journal.log.flush()
    } finally {
      await journal.close()
    }
    if (workingCopiesOf(options.path) !== undefined) return await copySession(path, options)
    // Payloads must exist before the lines that refer to them.
    if (existsSync(payloadsFolder(path))) {
      await rm(payloadsFolder(options.path), { recursive: true, force: true })
      await moveInto(payloadsFolder(path), payloadsFolder(options.path))
    }
    await moveInto(path, options.path)
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

const noPrices = { cost: () => undefined, worstCase: () => undefined }

/**
 * The conversation as a service accepts it: each call has one result, ids are unique, nothing is empty, and signatures stay with the model that wrote
 * them.
 */
export function sendableRuns({ program, runs }: Pick<ForeignSession, 'program' | 'runs'>): readonly ForeignRun[] {
  const maker = new SendableMaker(program)
  return runs.flatMap((run) => maker.run(run) ?? [])
}

class SendableMaker {
  readonly #program: ForeignProgram
  readonly #ids = new Set<string>()
  #hasBegun = false
  #runs = 0

  constructor(program: ForeignProgram) {
    this.#program = program
  }

  /** Gives every run an ending: a run of another program cannot be resumed in the middle. */
  run({ run, prompts, turns, ending }: ForeignRun): ForeignRun | undefined {
    const sendable = prompts.flatMap(sendableMessage)
    const own = turns.map((turn) => this.#turn(turn))
    const isEmpty =
      sendable.length === 0 &&
      own.every(({ message, laterMessages: more }) => message.content.length + more.length === 0)
    if (isEmpty) return undefined
    const needsBeginning = !this.#hasBegun && sendable.length === 0
    this.#hasBegun = true
    this.#runs++
    return {
      run: { ...run, runId: `run${this.#runs}` },
      prompts: needsBeginning ? [{ origin: 'loop', content: beginningMissing }] : sendable,
      turns: own,
      ending: ending ?? {
        reason: 'abandoned',
        message: `no end is recorded: ${programNames[this.#program]} was killed, or is still running`,
      },
    }
  }

  #turn(turn: ForeignTurn): ForeignTurn {
    const { message } = turn
    const names = new Map<string, string>()
    const paired = pairsIn(message.content)
    const content = message.content.flatMap((block): readonly ContentBlock[] => {
      if (isToolUse(block)) {
        const id = this.#freeId(block.id)
        names.set(block.id, id)
        // The Messages API accepts only objects.
        const input =
          typeof block.input === 'object' && block.input !== null && !Array.isArray(block.input)
            ? block.input
            : { input: block.input ?? null }
        return [{ type: 'tool_use', id, name: block.name, input }]
      }
      if (block.type === 'text') return isFilled(block) ? [block] : []
      if (block.type === 'thinking') return 'signature' in block && block.signature === '' ? [] : [block]
      return block.type === 'redacted_thinking' || paired.has(block) ? [block] : []
    })
    // Thinking alone is not a message.
    const isShown = content.some(({ type }) => type !== 'thinking' && type !== 'redacted_thinking')
    const results = [...names].map(([asked, id]): ForeignResult => {
      const result = turn.results.find(({ callId }) => callId === asked)
      if (result === undefined) return { callId: id, content: this.#noResult(), isError: true, endedMs: turn.endedMs }
      return { ...result, callId: id, content: sendableResult(result) }
    })
    return {
      ...turn,
      message: {
        ...message,
        content: isShown ? content : [],
        usage: message.usage ?? noUsage,
        // The names that the adapter of the Messages API uses: signatures are only sent to the model that wrote them.
        by: this.#program === 'codex' ? `codex/${message.model}` : `anthropic/${message.model}`,
      },
      results,
      agentRequests: [],
      laterMessages: turn.laterMessages.flatMap(sendableMessage),
    }
  }

  #noResult(): string {
    return `No result of this call is on record: ${programNames[this.#program]} was stopped before it was written down. It may have taken effect. Look before you repeat it.`
  }

  #freeId(wanted: string): string {
    const id = wanted === '' ? 'call' : wanted
    let free = id
    for (let number = 2; this.#ids.has(free); number++) free = `${id}_${number}`
    this.#ids.add(free)
    return free
  }
}

const beginningMissing = '[The beginning of this conversation is not on record.]'

function isFilled(block: ContentBlock): boolean {
  return 'text' in block && typeof block.text === 'string' && block.text.trim() !== ''
}

function sendableMessage(message: ForeignMessage): readonly ForeignMessage[] {
  const { content } = message
  if (typeof content === 'string') return content.trim() === '' ? [] : [message]
  const filled = content.filter((block) => block.type !== 'text' || isFilled(block))
  return filled.length === 0 ? [] : [{ ...message, content: filled }]
}

/** Content of a result; an error always has some text. */
function sendableResult({ content, isError }: ForeignResult): MessageContent {
  const filled =
    typeof content === 'string' ? content : content.filter((block) => block.type !== 'text' || isFilled(block))
  return isError && filled.length === 0 ? '(no output)' : filled
}

/** Server-side calls together with their results: a service rejects one without the other. */
function pairsIn(content: readonly ContentBlock[]): ReadonlySet<ContentBlock> {
  const calls = new Map<string, ContentBlock>()
  const pairs = new Set<ContentBlock>()
  for (const block of content) {
    if (block.type.endsWith('_tool_use') && 'id' in block && typeof block.id === 'string') calls.set(block.id, block)
    const call =
      'tool_use_id' in block && block.type.endsWith('_tool_result') ? calls.get(String(block.tool_use_id)) : undefined
    if (call !== undefined) pairs.add(call).add(block)
  }
  return pairs
}
