import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { HaltingError, type ContentBlock, type MessageContent } from '@halting/core'
import { isToolUse, noUsage } from '@halting/core/adapters'
import {
  recordsOfForeign,
  type ForeignResult,
  type ForeignRun,
  type ForeignSaid,
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
 * Begins a session with what was said in one of another program, whose file stays as it is. What that has cost is not counted here: nobody knows
 * what of it was paid by whom.
 * @throws HaltingError `driver` where nothing was said in it, and for what the file system refuses; then there is no session.
 */
export async function takeOver(session: ForeignSession, options: JournalOptions): Promise<void> {
  const runs = sendableRuns(session)
  if (runs.length === 0)
    throw new HaltingError(
      'driver',
      `Nothing was said in the session ${session.path} of ${programNames[session.program]}: there is nothing to go on with.`,
    )
  await makeDurableFolder(dirname(options.path))
  // A store takes all of it at once.
  if (workingCopiesOf(options.path) !== undefined) return writeAside(runs, options)
  const held = await lockSession(options.path, options.sessionId)
  try {
    if (existsSync(options.path))
      throw new HaltingError('driver', `The session ${options.sessionId} is there already. Go on with that one.`)
    await writeAside(runs, options)
  } finally {
    await held.release()
  }
}

/** A process that ends in the middle leaves no session with a part of what was said. */
async function writeAside(runs: readonly ForeignRun[], options: JournalOptions): Promise<void> {
  const aside = join(dirname(options.path), `.${basename(options.path, extname(options.path))}.part`)
  // What another process left there.
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
    // What its lines name is there before they are.
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

/** What was said, as a service takes it: every call with one result, ids that differ, nothing empty, signatures with the model that wrote them. */
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

  /** Every run has an end: nobody can go on in the middle of what another program did. */
  run({ run, prompts, turns, ending }: ForeignRun): ForeignRun | undefined {
    const said = prompts.flatMap(sendableSaid)
    const own = turns.map((turn) => this.#turn(turn))
    const isEmpty =
      said.length === 0 && own.every(({ message, said: more }) => message.content.length + more.length === 0)
    if (isEmpty) return undefined
    const needsBeginning = !this.#hasBegun && said.length === 0
    this.#hasBegun = true
    this.#runs++
    return {
      run: { ...run, runId: `run${this.#runs}` },
      prompts: needsBeginning ? [{ origin: 'loop', content: beginningMissing }] : said,
      turns: own,
      ending: ending ?? {
        reason: 'abandoned',
        message: `no end is on record: ${programNames[this.#program]} was ended, or goes on`,
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
        // The Messages API takes an object alone.
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
    // Thoughts alone are no message.
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
        // As the adapter of the Messages API names its models: with another one signatures are left out.
        by: this.#program === 'codex' ? `codex/${message.model}` : `anthropic/${message.model}`,
      },
      results,
      beside: [],
      said: turn.said.flatMap(sendableSaid),
    }
  }

  #noResult(): string {
    return `No result of this call is on record: ${programNames[this.#program]} was stopped before it was written down. It may have taken effect. Look before you repeat it.`
  }

  #freeId(given: string): string {
    const id = given === '' ? 'call' : given
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

function sendableSaid(said: ForeignSaid): readonly ForeignSaid[] {
  const { content } = said
  if (typeof content === 'string') return content.trim() === '' ? [] : [said]
  const filled = content.filter((block) => block.type !== 'text' || isFilled(block))
  return filled.length === 0 ? [] : [{ ...said, content: filled }]
}

/** Content of a result; one that tells of an error says something. */
function sendableResult({ content, isError }: ForeignResult): MessageContent {
  const filled =
    typeof content === 'string' ? content : content.filter((block) => block.type !== 'text' || isFilled(block))
  return isError && filled.length === 0 ? '(no output)' : filled
}

/** Calls of the service's own tools that have their results, and these: one without the other is refused. */
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
