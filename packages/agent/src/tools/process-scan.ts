import { closeSync, existsSync, openSync, readdirSync, readlinkSync, readSync, statfsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** The processes to search for. */
export interface ScannedGroup {
  readonly groupId: number
  readonly mark: string
  /** State before the first process started; undefined if unknown: then every process is inspected. */
  readonly started?: ProcessMoment | undefined
  /** Whether processes that left the group are ignored. */
  readonly leaves?: 'detached' | undefined
}

/** A process of a group, or one with its mark. */
export interface Member {
  readonly processId: number
  readonly groupId: number
  readonly isMarked: boolean
  /**
   * Start time in kernel ticks. Together with the number, it distinguishes a process from a later one with the same
   * number.
   */
  readonly startedAt: number
}

/** The state before a process started, from which the count of later process numbers follows. */
export interface ProcessMoment {
  readonly atMs: number
  /** Number of processes and threads that this machine had started. */
  readonly forks: number | undefined
}

/** What the kernel reports about processes; replaced in tests. */
export interface ProcessFiles {
  readonly processId: number
  nowMs(): number
  /** Returns the numbers of all processes; undefined if they cannot be listed. */
  list(): readonly number[] | undefined
  listLater(): Promise<readonly number[] | undefined>
  /** Whether a process or a thread has this number. */
  exists(processId: number): boolean
  /** The numbers of the threads of a process. */
  threads(processId: number): readonly number[]
  /** Returns a file of `/proc`, valid until the next one is read; undefined if unreadable. */
  read(path: string): Buffer | undefined
  /** The target of `/proc/self`. */
  self(): string | undefined
  /** Whether the kernel itself serves the file, and not a program such as lxcfs. */
  isOfKernel(path: string): boolean
}

/** Process numbers below this are not reused. */
const reservedNumbers = 300
/**
 * Maximum rate at which a machine starts processes and threads, per millisecond: the kernel assigns their numbers
 * under one lock.
 */
const maxStartsPerMs = 500
/** Failed starts also use up numbers, but are not counted: half of the numbers and this time are reserved for them. */
const maxCountedMs = 5_000
/** Maximum number of process numbers that are tried one by one; for more, listing all processes is cheaper. */
const maxTried = 128
const maxRounds = 50
/** Maximum number of listings of all processes in one search: a busy machine always has another new process. */
const maxLists = 4
/** Maximum number of times that a process without an environment is inspected again. */
const maxRetries = 3
const perPause = 8
const sliceMs = 1

type Pause = 'list' | 'pause'
type Scan = Generator<Pause, readonly Member[] | undefined, readonly number[] | undefined>

// Decision 0099.
/**
 * Finds the processes of a group, and those that have its mark in their environment. A process has a later number than
 * its parent. So only numbers between the first process and the newest one are tried, if the numbering has certainly
 * not wrapped around since; otherwise every process is inspected.
 */
export class ProcessScan {
  readonly #files: ProcessFiles
  #source: 'loadavg' | 'ns_last_pid' | 'none' | undefined
  #ownStart: number | undefined

  constructor(files: ProcessFiles = machineFiles) {
    this.#files = files
  }

  /** Call this before a process starts. Returns undefined if process numbers carry no information. */
  moment(): ProcessMoment | undefined {
    if (this.#numberSource() === 'none') return undefined
    return { atMs: this.#files.nowMs(), forks: this.#forks() }
  }

  /**
   * Returns the running processes immediately; undefined if processes cannot be listed. Zombies do not count as
   * running.
   */
  find(group: ScannedGroup): readonly Member[] | undefined {
    const look = this.#look(group)
    let step = look.next()
    while (step.done !== true) step = look.next(step.value === 'list' ? this.#files.list() : undefined)
    return step.value
  }

  /** The same; returns a promise if there are too many processes to inspect in one turn of the event loop. */
  findInTurns(group: ScannedGroup): readonly Member[] | undefined | Promise<readonly Member[] | undefined> {
    const look = this.#look(group)
    const began = this.#files.nowMs()
    for (let step = look.next(); ; step = look.next()) {
      if (step.done === true) return step.value
      if (step.value === 'list' || this.#files.nowMs() - began >= sliceMs) return this.#inTurns(look, step.value)
    }
  }

  async #inTurns(look: Scan, first: Pause): Promise<readonly Member[] | undefined> {
    let pause = first
    let list: readonly number[] | undefined
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- the next turn of the event loop
      if (pause === 'list') list = await this.#files.listLater()
      // oxlint-disable-next-line no-await-in-loop -- the next turn of the event loop
      else await nextTurn()
      const began = this.#files.nowMs()
      let step = look.next(list)
      while (step.done !== true && step.value === 'pause' && this.#files.nowMs() - began < sliceMs) step = look.next()
      if (step.done === true) return step.value
      pause = step.value
      list = undefined
    }
  }

  /** Whether a found process is still running. */
  runs({ processId, startedAt }: Member): boolean {
    return this.#statOf(processId)?.startedAt === startedAt
  }

  /**
   * Inspects the existing processes, then those started meanwhile, until there are none: a process that ends before
   * its inspection may have started another one with a later number.
   */
  *#look(group: ScannedGroup): Scan {
    const found: Found = { members: new Map(), unclear: new Set() }
    let newest = this.#newest()
    let isInOrder = newest !== undefined && this.#isFirstRound(group, newest)
    let first = group.groupId
    let [lists, retries] = [0, 0]
    for (let round = 0; round < maxRounds; round += 1) {
      const last = isInOrder ? newest?.processId : undefined
      if (last === undefined || last - first >= maxTried) {
        if (lists === maxLists) break
        lists += 1
        if (!(yield* this.#inspectListed(group, found, { first, last }))) return undefined
      } else yield* this.#inspectTried(group, found, { first, last })
      if (found.unclear.size > 0 && retries < maxRetries) {
        retries += 1
        yield* this.#inspectAgain(group, found)
      }
      const later = newest === undefined ? undefined : this.#newest()
      if (newest === undefined || later === undefined) break
      if (later.processId === newest.processId && (found.unclear.size === 0 || retries === maxRetries)) break
      // Otherwise the numbering wrapped around.
      isInOrder = later.processId >= newest.processId
      first = newest.processId + 1
      newest = later
    }
    return [...found.members.values()]
  }

  /**
   * Inspects the listed processes. Returns false if processes cannot be listed. Without a last number, all are
   * inspected.
   */
  *#inspectListed(
    group: ScannedGroup,
    found: Found,
    { first, last }: { readonly first: number; readonly last: number | undefined },
  ): Generator<Pause, boolean, readonly number[] | undefined> {
    const list = yield 'list'
    for (const [at, processId] of list?.entries() ?? []) {
      if (last !== undefined && (processId < first || processId > last)) continue
      if (at % perPause === 0) yield 'pause'
      this.#inspect(processId, group, found)
    }
    return list !== undefined
  }

  *#inspectTried(
    group: ScannedGroup,
    found: Found,
    { first, last }: { readonly first: number; readonly last: number },
  ): Generator<Pause, void, readonly number[] | undefined> {
    for (let processId = first; processId <= last; processId += 1) {
      if (processId % perPause === 0) yield 'pause'
      if (this.#files.exists(processId)) this.#inspect(processId, group, found)
    }
  }

  *#inspectAgain(group: ScannedGroup, found: Found): Generator<Pause, void, readonly number[] | undefined> {
    const again = [...found.unclear]
    found.unclear.clear()
    for (const processId of again) {
      yield 'pause'
      this.#inspect(processId, group, found)
    }
  }

  /**
   * Whether no number was reused since the group started: then its processes have numbers between the group's number
   * and the newest one.
   */
  #isFirstRound({ groupId, started }: ScannedGroup, { processId, tasks }: Newest): boolean {
    if (started === undefined || processId < groupId) return false
    const highest = Number(this.#text('/proc/sys/kernel/pid_max'))
    // A number also remains in use as that of a group or session whose first process has ended.
    const free = highest - reservedNumbers - 3 * tasks
    const elapsedMs = this.#files.nowMs() - started.atMs
    if (elapsedMs * maxStartsPerMs < free) return true
    const forks = this.#forks()
    if (forks === undefined || started.forks === undefined || elapsedMs > maxCountedMs) return false
    return (forks - started.forks) * 2 < free
  }

  #inspect(processId: number, { groupId: wantedGroup, mark, leaves, started }: ScannedGroup, found: Found): void {
    const stat = processId === this.#files.processId ? undefined : this.#statOf(processId)
    if (stat === undefined) return
    const { groupId, startedAt, isLeaderGone, hasMemory } = stat
    const isInGroup = groupId === wantedGroup
    if (leaves === 'detached' && !isInGroup) return
    // Processes older than this program cannot have been started by it.
    if (started !== undefined && startedAt < this.#startOfThis()) return
    const threads = isLeaderGone ? this.#files.threads(processId) : []
    const environments = [`${processId}/environ`, ...threads.map((thread) => `${processId}/task/${thread}/environ`)]
    const isMarked = environments.some((path) =>
      this.#hasMark(path, mark, () => hasMemory && found.unclear.add(processId)),
    )
    if (!isMarked && !isInGroup) return
    // Threads have numbers of their own, which also lead to their process.
    if (this.#isProcess(processId)) found.members.set(processId, { processId, groupId, startedAt, isMarked })
  }

  /** A process has no environment while it executes another program. */
  #hasMark(path: string, mark: string, onNone: () => unknown): boolean {
    const environment = this.#files.read(`/proc/${path}`)
    if (environment?.length === 0) onNone()
    return environment?.includes(mark, 0, 'latin1') === true
  }

  #isProcess(processId: number): boolean {
    return /^Tgid:\s*(\d+)$/m.exec(this.#text(`/proc/${processId}/status`) ?? '')?.[1] === String(processId)
  }

  /**
   * Returns the state of a process; undefined for zombies and ended processes. The first thread of a process may end
   * before the others; such a process is not a zombie.
   */
  #statOf(processId: number | 'self'): Stat | undefined {
    const text = this.#text(`/proc/${processId}/stat`)
    if (text === undefined) return undefined
    // The name, in parentheses, may contain anything. After the last parenthesis come state, parent and group, and as
    // fields 20, 22 and 23 of all the number of threads, start time and memory.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state, , groupId] = fields
    const isLeaderGone = state === 'Z' || state === 'X'
    if (isLeaderGone && !(Number(fields[17]) > 1)) return undefined
    return { groupId: Number(groupId), startedAt: Number(fields[19]), isLeaderGone, hasMemory: Number(fields[20]) > 0 }
  }

  #startOfThis(): number {
    this.#ownStart ??= this.#statOf('self')?.startedAt ?? 0
    return this.#ownStart
  }

  #newest(): Newest | undefined {
    const source = this.#numberSource()
    if (source === 'none') return undefined
    const fields = this.#text('/proc/loadavg')?.trim().split(/[ /]/) ?? []
    const tasks = Number(fields[4])
    const processId = Number(source === 'loadavg' ? fields[5] : this.#text('/proc/sys/kernel/ns_last_pid'))
    return processId > 0 && tasks > 0 ? { processId, tasks } : undefined
  }

  /**
   * The source of the newest process number. There is none if `/proc` belongs to a different process namespace than
   * that of this program.
   */
  #numberSource(): 'loadavg' | 'ns_last_pid' | 'none' {
    this.#source ??= this.#findNumberSource()
    return this.#source
  }

  #findNumberSource(): 'loadavg' | 'ns_last_pid' | 'none' {
    const own = String(this.#files.processId)
    if (this.#files.self() !== own) return 'none'
    // In a namespace below that of `/proc`, a process has a number in each namespace.
    if (/^NSpid:\s*(.*)$/m.exec(this.#text('/proc/self/status') ?? '')?.[1] !== own) return 'none'
    if (this.#files.isOfKernel('/proc/loadavg')) return 'loadavg'
    return Number(this.#text('/proc/sys/kernel/ns_last_pid')) > 0 ? 'ns_last_pid' : 'none'
  }

  #forks(): number | undefined {
    const count = Number(/^processes (\d+)$/m.exec(this.#text('/proc/stat') ?? '')?.[1])
    return count > 0 ? count : undefined
  }

  #text(path: string): string | undefined {
    return this.#files.read(path)?.toString('latin1')
  }
}

interface Found {
  readonly members: Map<number, Member>
  /** Processes that had no environment. */
  readonly unclear: Set<number>
}

interface Stat {
  readonly groupId: number
  readonly startedAt: number
  readonly isLeaderGone: boolean
  /** Whether the process has memory; kernel threads have none. */
  readonly hasMemory: boolean
}

interface Newest {
  readonly processId: number
  /** Number of existing processes and threads, at least those of this namespace. */
  readonly tasks: number
}

const procFileSystem = 0x9f_a0
let buffer = Buffer.allocUnsafeSlow(16_384)

const machineFiles: ProcessFiles = {
  processId: process.pid,
  nowMs: () => performance.now(),
  list() {
    try {
      return processNumbers(readdirSync('/proc'))
    } catch {
      return undefined
    }
  },
  async listLater() {
    try {
      return processNumbers(await readdir('/proc'))
    } catch {
      return undefined
    }
  },
  exists: (processId) => existsSync(`/proc/${processId}`),
  threads(processId) {
    try {
      return processNumbers(readdirSync(`/proc/${processId}/task`))
    } catch {
      return []
    }
  },
  read: readWhole,
  self() {
    try {
      return readlinkSync('/proc/self')
    } catch {
      return undefined
    }
  },
  isOfKernel(path) {
    try {
      return statfsSync(path).type === procFileSystem
    } catch {
      return false
    }
  },
}

function processNumbers(names: readonly string[]): readonly number[] {
  return names.filter((name) => /^\d+$/.test(name)).map(Number)
}

/** Reads a file without querying its size, because files of `/proc` have none. */
function readWhole(path: string): Buffer | undefined {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, 'r')
    let length = 0
    for (;;) {
      const bytes = readSync(descriptor, buffer, length, buffer.length - length, null)
      length += bytes
      if (bytes === 0) return buffer.subarray(0, length)
      if (length === buffer.length) buffer = Buffer.concat([buffer], 2 * length)
    }
  } catch {
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}
