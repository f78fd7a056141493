import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  replay,
  resume,
  startRun,
  streamRun,
  type RunEvent,
  type RunOptions,
  type RunResult,
  type RunState,
  type RunStream,
  type StepRecord,
} from '@halting/core'
import { DurableStepEngine, type StepStore } from '@halting/core/steps'
import { openJournal, readJournal } from '../../src/index.ts'
import { drawnSettings, type DrawnProcess, type DrawnRun } from './drawn-run.ts'
import { GoalWorld, WorldProcess } from './goal-world.ts'

// Executes a random run by several processes. Each dies as planned, and the next one resumes from the records.

/** The result of one process. */
interface ProcessRun {
  readonly events: readonly RunEvent[]
  /** Undefined if it died. */
  readonly ended: { readonly terminal: RunResult; readonly state: RunState } | undefined
}

export interface KilledRun {
  readonly world: GoalWorld
  readonly processes: readonly ProcessRun[]
  readonly records: readonly StepRecord[]
  readonly terminal: RunResult
  readonly state: RunState
  /** A replay of all records. */
  readonly replayed: { readonly terminal: RunResult; readonly events: readonly RunEvent[] }
  /** Options of the first process. */
  readonly options: RunOptions
}

/** The process died. Nothing is written any more. */
class Died extends Error {}

/** A store that dies with its process, and the records that it left. */
interface OpenStore {
  readonly log: StepStore
  readonly open: readonly StepRecord[] | undefined
  close(): Promise<void>
}

type Stores = () => Promise<OpenStore>

function memoryStores(records: StepRecord[]): Stores {
  return async () => ({
    open: records.length === 0 ? undefined : [...records],
    log: {
      keeps: 'all',
      append: (record) => void records.push(JSON.parse(JSON.stringify(record)) as StepRecord),
      flush() {},
    },
    close: async () => {},
  })
}

function fileStores(path: string): Stores {
  return async () => {
    const journal = await openJournal({ path, sessionId: 'drawn', cwd: '/project', version: '0.1.0' })
    return { open: journal.open, log: journal.log, close: () => journal.close() }
  }
}

let files = 0

/** Executes a random run to its end. `folder` is for session files. */
export async function takeToEnd(drawn: DrawnRun, folder: string): Promise<KilledRun> {
  const world = new GoalWorld(drawn)
  const kept: StepRecord[] = []
  const path = join(folder, `${files++}`, 'drawn.jsonl')
  if (drawn.store === 'files') mkdirSync(join(path, '..'), { recursive: true })
  const stores = drawn.store === 'memory' ? memoryStores(kept) : fileStores(path)
  const processes: ProcessRun[] = []
  const whole: DrawnProcess = { diesAfter: Infinity, until: 'same' }
  const plan: readonly DrawnProcess[] = [...drawn.processes, whole]
  // The first process has the goals, whatever the plan says about its successors.
  const untils = ['same', ...plan.slice(1).map(({ until }) => until)] as const
  let written = 0
  for (const [index, { diesAfter }] of plan.entries()) {
    const process = new WorldProcess(drawn, world, untils[index] ?? 'same')
    const store = await stores()
    const processRun = await work(drawn, process, store, { diesAfter, before: written })
    written += processRun.written
    await store.close()
    processes.push(processRun)
    if (processRun.ended !== undefined) break
  }
  const ended = processes.at(-1)?.ended
  if (ended === undefined) throw new Error('The last process did not come to an end.')
  const records = drawn.store === 'memory' ? kept : ((await readJournal(path)).runs.at(-1) ?? [])
  if (drawn.store === 'files') rmSync(join(path, '..'), { recursive: true, force: true })
  const { options } = new WorldProcess(drawn, world, 'same')
  const replayed = await replay(records, options)
  return { world, processes, records, ...ended, replayed, options }
}

async function work(
  drawn: DrawnRun,
  process: WorldProcess,
  { log, open }: OpenStore,
  { diesAfter, before }: { readonly diesAfter: number; readonly before: number },
): Promise<ProcessRun & { readonly written: number }> {
  const events: RunEvent[] = []
  let written = 0
  let die = (): void => {}
  const died = new Promise<'died'>((resolve) => {
    die = () => {
      process.isDead = true
      resolve('died')
    }
  })
  const mortal: StepStore = {
    keeps: 'all',
    append(record) {
      if (process.isDead || written >= diesAfter) {
        die()
        throw new Died('The process has died.')
      }
      log.append(record)
      written++
      happenings(drawn, running, before + written)
    },
    flush: () => log.flush(),
  }
  const { options } = process
  const running: RunStream =
    open === undefined
      ? streamRun(startRun({ prompt: 'do it', sessionId: 'drawn' }), {
          ...options,
          steps: new DurableStepEngine({
            log: mortal,
            sessionId: 'drawn',
            ...(options.clock !== undefined && { clock: options.clock }),
          }),
        })
      : resume(open, options, undefined, mortal).loop
  const reading = (async () => {
    for await (const event of running) if (!process.isDead) events.push(event)
    return running.ended
  })()
  const ended = await Promise.race([reading, died])
  return { events, written, ended: ended === 'died' || process.isDead ? undefined : ended }
}

/** Applies the external actions that are due at this number of records. */
function happenings({ settings, abortAfter }: DrawnRun, running: RunStream, records: number): void {
  for (const { after, change } of settings)
    if (after === records) queueMicrotask(() => running.set(drawnSettings[change]))
  if (abortAfter === records) queueMicrotask(() => running.abort('user'))
}
