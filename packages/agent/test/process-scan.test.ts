// Holds R-BACK-8e and R-BACK-8f.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ProcessFiles, ProcessScan, type ScannedGroup } from '../src/tools/process-scan.ts'

const reserved = 300
const ours = 'f0e1-ours'

interface Task {
  readonly processId: number
  /** The process of a thread. */
  readonly of: number
  group: number
  isMarked: boolean
  isZombie: boolean
  /** It belongs to another user: its environment cannot be read. */
  isOfOther: boolean
  /** It is just starting another one, which is not visible yet. */
  isStarting: boolean
  /** It is about to execute another program: it has no environment yet. */
  isExecuting: boolean
  readonly startedAt: number
}

/** A simulated kernel: it assigns numbers in order, and wraps around after the highest one. */
class Machine implements ProcessFiles {
  readonly processId = 310
  readonly tasks = new Map<number, Task>()
  /** Called before each answer. */
  beforeAnswer: () => void = () => undefined
  lists = 0
  reads = 0
  forks = 5_000
  linked = String(this.processId)
  levels = String(this.processId)
  isLxcfs = false
  hasNoNumbers = false
  #cursor: number
  #now = 1_000
  readonly highest: number

  constructor(highest: number, cursor: number) {
    this.highest = highest
    this.#cursor = cursor
    this.add(this.processId, {})
  }

  nowMs(): number {
    return this.#now
  }

  pass(ms: number): void {
    this.#now += ms
  }

  add(processId: number, fields: Partial<Task>): Task {
    const task = {
      processId,
      of: processId,
      group: 1,
      isMarked: false,
      isZombie: false,
      isOfOther: false,
      isStarting: false,
      isExecuting: false,
      startedAt: Math.floor(this.#now / 10),
    }
    const added = { ...task, ...fields }
    this.tasks.set(processId, added)
    return added
  }

  /** The next free number. Undefined if all are in use. */
  number(): number | undefined {
    for (let tries = 0; tries <= this.highest; tries += 1) {
      this.#cursor += 1
      if (this.#cursor >= this.highest) this.#cursor = reserved
      if (!this.tasks.has(this.#cursor)) {
        this.#now += 1 / 500
        return this.#cursor
      }
    }
    return undefined
  }

  start(fields: Partial<Task>): Task | undefined {
    const number = this.number()
    this.forks += 1
    return number === undefined ? undefined : this.add(number, fields)
  }

  /** Unrelated processes that start and end: only the numbers advance. */
  churn(count: number, areFailures: boolean): void {
    for (let at = 0; at < count; at += 1) {
      this.number()
      if (!areFailures) this.forks += 1
    }
  }

  #processes(): readonly number[] {
    return [...this.tasks.values()]
      .flatMap(({ processId, of }) => (processId === of ? [processId] : []))
      .toSorted((one, other) => one - other)
  }

  list(): readonly number[] {
    this.beforeAnswer()
    this.lists += 1
    return this.#processes()
  }

  async listLater(): Promise<readonly number[]> {
    return this.list()
  }

  exists(processId: number): boolean {
    this.beforeAnswer()
    this.reads += 1
    return this.tasks.has(processId)
  }

  threads(processId: number): readonly number[] {
    this.beforeAnswer()
    return [...this.tasks.values()].flatMap((task) => (task.of === processId ? [task.processId] : []))
  }

  read(path: string): Buffer | undefined {
    this.beforeAnswer()
    this.reads += 1
    const text = this.#text(path)
    return text === undefined ? undefined : Buffer.from(text)
  }

  #text(path: string): string | undefined {
    const newest = this.hasNoNumbers ? 0 : this.#cursor
    if (path === '/proc/loadavg') return `0.10 0.20 0.30 1/${this.tasks.size} ${this.isLxcfs ? 7 : newest}\n`
    if (path === '/proc/sys/kernel/ns_last_pid') return this.hasNoNumbers ? undefined : `${newest}\n`
    if (path === '/proc/sys/kernel/pid_max') return `${this.highest}\n`
    if (path === '/proc/stat') return `cpu 1 2 3\nprocesses ${this.forks}\nprocs_running 1\n`
    if (path === '/proc/self/status') return `Name:\tnode\nTgid:\t${this.processId}\nNSpid:\t${this.levels}\n`
    const [, , name, ...rest] = path.split('/')
    const file = rest.at(-1)
    const task = this.tasks.get(rest.length > 1 ? Number(rest[1]) : name === 'self' ? this.processId : Number(name))
    if (task === undefined) return undefined
    const threads = [...this.tasks.values()].filter(({ of }) => of === task.of).length
    if (file === 'status') return `Name:\tx\nTgid:\t${task.of}\n`
    if (file === 'environ' && task.isOfOther) return undefined
    if (file === 'environ' && task.isExecuting) return ''
    if (file === 'environ')
      return task.isZombie ? '' : `A=1\0HALTING_CALL=other,${task.isMarked ? ours : 'theirs'}\0B=2\0`
    return `${task.processId} (a) Z (b) ${task.isZombie ? 'Z' : 'S'} 1 ${task.group} 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 ${threads} 0 ${task.startedAt} 4096 0\n`
  }

  self(): string {
    return this.linked
  }

  isOfKernel(path: string): boolean {
    return !(this.isLxcfs && path === '/proc/loadavg')
  }

  /** The processes of a group that are really running. */
  truth({ groupId }: ScannedGroup): readonly number[] {
    return this.#processes().filter((processId) => {
      const task = this.tasks.get(processId)
      return task !== undefined && !task.isZombie && ((task.isMarked && !task.isOfOther) || task.group === groupId)
    })
  }
}

const event = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'start',
        'thread',
        'leave group',
        'clear mark',
        'change user',
        'end',
        'zombie',
        'begin start',
        'finish start',
      ),
      which: fc.nat(100),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('stranger' as const), which: fc.nat(3) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('churn' as const), which: fc.oneof(fc.nat(200), fc.nat(2_500)) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('failures' as const), which: fc.nat(80) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('time' as const), which: fc.nat(3_000) }) },
)
type Event = typeof event extends fc.Arbitrary<infer One> ? One : never

/** A command, and what happens on the machine then. */
class Story {
  readonly group: ScannedGroup
  readonly #machine: Machine
  readonly #begun: { readonly parent: Task; readonly number: number }[] = []

  constructor(machine: Machine, scan: ProcessScan) {
    this.#machine = machine
    const started = scan.moment()
    const shell = machine.start({ isMarked: true })
    if (shell === undefined) throw new Error('no number')
    shell.group = shell.processId
    this.group = { groupId: shell.processId, mark: ours, started }
  }

  /** Processes and threads that the command started. */
  get #family(): readonly Task[] {
    const { groupId } = this.group
    return [...this.#machine.tasks.values()].filter(
      ({ group, isMarked, isZombie }) => (isMarked || group === groupId) && !isZombie,
    )
  }

  play({ kind, which }: Event): void {
    const machine = this.#machine
    if (kind === 'churn' || kind === 'failures') return machine.churn(which, kind === 'failures')
    if (kind === 'time') return machine.pass(which)
    if (kind === 'stranger') return void machine.start({})
    const family = this.#family
    const task = family[which % Math.max(1, family.length)]
    if (kind === 'finish start') return this.#finish()
    if (task === undefined) return undefined
    const { group, isMarked, isOfOther } = task
    if (kind === 'start') machine.start({ group, isMarked, isOfOther })
    else if (kind === 'thread') machine.start({ group, isMarked, isOfOther, of: task.of })
    else if (kind === 'begin start') this.#begin(task)
    else if (kind === 'leave group') task.group = isMarked ? task.processId : task.group
    else if (kind === 'change user') task.isOfOther = true
    else if (kind === 'clear mark') task.isMarked = task.group !== this.group.groupId
    else this.#end(task, kind === 'zombie')
    return undefined
  }

  #begin(parent: Task): void {
    const number = this.#machine.number()
    if (number === undefined) return
    parent.isStarting = true
    this.#begun.push({ parent, number })
    // Its number is in use, but not visible.
    this.#machine.tasks.set(number, { ...parent, processId: number, of: -1, isMarked: false, group: 1 })
  }

  #finish(): void {
    const { parent, number } = this.#begun.shift() ?? {}
    if (parent === undefined || number === undefined) return
    parent.isStarting = false
    this.#machine.add(number, { group: parent.group, isMarked: parent.isMarked, isOfOther: parent.isOfOther })
  }

  #end(task: Task, staysAsZombie: boolean): void {
    const { tasks } = this.#machine
    const threads = [...tasks.values()].filter(({ of }) => of === task.of)
    // The kernel lets a start succeed or fail before the process ends.
    if (threads.some(({ isStarting }) => isStarting)) return
    const ending = task.of === task.processId ? threads : [task]
    for (const each of ending)
      if (staysAsZombie && each.of === each.processId) each.isZombie = true
      else tasks.delete(each.processId)
  }

  finishAll(): void {
    while (this.#begun.length > 0) this.#finish()
  }
}

const machines = fc.record({
  highest: fc.constantFrom(800, 2_000, 32_768, 4_194_304),
  offset: fc.nat(2_000),
  strangers: fc.nat(40),
})

function machineOf({
  highest,
  offset,
  strangers,
}: {
  readonly highest: number
  readonly offset: number
  readonly strangers: number
}): Machine {
  const machine = new Machine(highest, reserved + 20 + (offset % (highest - 400)))
  for (let at = 0; at < strangers; at += 1) machine.start({})
  machine.pass(50)
  return machine
}

const ids = (members: readonly { readonly processId: number }[] | undefined): readonly number[] | undefined =>
  members?.map(({ processId }) => processId).toSorted((one, other) => one - other)

describe('the running processes of a command', () => {
  test('are the same by numbers since its start and by all processes', () => {
    const seen = { few: 0, all: 0 }
    fc.assert(
      fc.property(machines, fc.array(event, { maxLength: 25 }), (shape, events) => {
        const machine = machineOf(shape)
        const scan = new ProcessScan(machine)
        const story = new Story(machine, scan)
        for (const one of events) story.play(one)
        story.finishAll()
        const few = ids(scan.find(story.group))
        seen[machine.lists === 0 ? 'few' : 'all'] += 1
        expect(few).toEqual(machine.truth(story.group))
        expect(few).toEqual(ids(scan.find({ ...story.group, started: undefined })))
      }),
      { numRuns: 150 },
    )
    expect(Math.min(seen.few, seen.all)).toBeGreaterThan(10)
  })

  test('include those that start, and whose parent ends, during the scan', () => {
    const seen = { empty: 0, some: 0 }
    const moving = fc.constantFrom<Event['kind']>(
      'start',
      'end',
      'end',
      'begin start',
      'finish start',
      'leave group',
      'stranger',
    )
    const moments = fc.array(fc.record({ after: fc.nat(4), kind: moving, which: fc.nat(3) }), { maxLength: 12 })
    fc.assert(
      fc.property(machines, fc.array(event, { maxLength: 4 }), moments, (shape, events, later) => {
        const machine = machineOf(shape)
        const scan = new ProcessScan(machine)
        const story = new Story(machine, scan)
        for (const one of events) story.play(one)
        let wait = later[0]?.after ?? 0
        const rest = [...later]
        machine.beforeAnswer = () => {
          if (wait > 0) wait -= 1
          else {
            const next = rest.shift()
            if (next !== undefined) story.play(next)
            wait = rest[0]?.after ?? 0
          }
        }
        const found = scan.find(story.group)
        machine.beforeAnswer = () => undefined
        story.finishAll()
        // If numbers wrapped around, all processes are inspected in numeric order, each once.
        if (machine.lists > 0) return
        seen[found?.length === 0 ? 'empty' : 'some'] += 1
        expect(found?.length === 0 ? machine.truth(story.group) : []).toEqual([])
      }),
      { numRuns: 450 },
    )
    expect(Math.min(seen.empty, seen.some)).toBeGreaterThan(10)
  })

  /** A machine with this many unrelated processes, and a command that left a server in its own session. */
  function busyMachine(strangers: number, highest = 32_768) {
    const machine = machineOf({ highest, offset: 0, strangers })
    const scan = new ProcessScan(machine)
    const story = new Story(machine, scan)
    const server = machine.start({ isMarked: true, group: 9_999 })
    machine.tasks.delete(story.group.groupId)
    machine.reads = 0
    return { machine, scan, group: story.group, server: server?.processId ?? 0 }
  }

  test('are found among 5,000 processes by reading a few files', () => {
    const { machine, scan, group, server } = busyMachine(5_000)
    expect(ids(scan.find(group))).toEqual([server])
    expect([machine.lists, machine.reads < 20]).toEqual([0, true])
  })

  test.each<[string, (machine: Machine) => void]>([
    ['/proc is that of another namespace', (machine) => (machine.linked = '4711')],
    ['/proc is that of the namespace around', (machine) => (machine.levels = `${machine.processId} 12`)],
    ['the kernel reports no newest number', (machine) => (machine.hasNoNumbers = true)],
    ['numbers went round once since', (machine) => machine.churn(machine.highest, false)],
    ['numbers began again since', (machine) => machine.churn(machine.highest - 2_000, false)],
    ['so much time went by that they may have gone round', (machine) => machine.pass(60_000)],
  ])('are searched among all processes if %s', (_, change) => {
    const machine = machineOf({ highest: 32_768, offset: 1_800, strangers: 30 })
    const isOfMachine = machine.linked
    const before = new ProcessScan(machine)
    expect(before.moment()).toBeDefined()
    const isLater = ['pass', 'churn'].some((name) => String(change).includes(name))
    if (!isLater) change(machine)
    const scan = new ProcessScan(machine)
    const story = new Story(machine, scan)
    const server = machine.start({ isMarked: true, group: 9_999 })
    if (isLater) change(machine)
    expect(ids(scan.find(story.group))).toEqual([story.group.groupId, server?.processId])
    expect([machine.lists, isOfMachine]).toEqual([1, '310'])
  })

  test("are found by the kernel's newest number if lxcfs reports another", () => {
    const machine = machineOf({ highest: 32_768, offset: 0, strangers: 30 })
    machine.isLxcfs = true
    const scan = new ProcessScan(machine)
    const story = new Story(machine, scan)
    expect([ids(scan.find(story.group)), machine.lists]).toEqual([[story.group.groupId], 0])
  })

  test('are found in several turns of the event loop, with the same result', async () => {
    const { machine, scan, group, server } = busyMachine(5_000)
    machine.churn(machine.highest, false)
    machine.beforeAnswer = () => machine.pass(0.02)
    let [turns, longest, last] = [0, 0, machine.nowMs()]
    let isOver = false
    const turn = (): void => {
      turns += 1
      longest = Math.max(longest, machine.nowMs() - last)
      last = machine.nowMs()
      if (!isOver) setImmediate(turn)
    }
    setImmediate(turn)
    const found = await scan.findInTurns(group)
    isOver = true
    expect(ids(found)).toEqual([server])
    expect(turns).toBeGreaterThan(50)
    expect(longest).toBeLessThan(2)
  })

  test('exclude a later process with the same number', () => {
    const { machine, scan, group, server } = busyMachine(3)
    const [member] = scan.find(group) ?? []
    if (member === undefined) throw new Error('nothing found')
    expect(scan.runs(member)).toBe(true)
    machine.tasks.delete(server)
    machine.pass(100)
    machine.add(server, { isMarked: true })
    expect(scan.runs(member)).toBe(false)
  })

  test('include a server started while very many others are', async () => {
    const { machine, scan, group, server } = busyMachine(200)
    machine.churn(20_000, false)
    machine.pass(10_000)
    const child: Task[] = []
    let answers = 0
    machine.beforeAnswer = () => {
      answers += 1
      if (answers % 100 !== 0 || child.length > 0) return
      machine.churn(300, false)
      // Listed, and gone before it is inspected.
      const started = machine.start({ isMarked: true, group: 9_999 })
      if (started !== undefined) child.push(started)
      machine.tasks.delete(server)
    }
    expect(ids(await scan.findInTurns(group))).toEqual(child.map(({ processId }) => processId))
    expect(child).toHaveLength(1)
  })

  test('include one whose first thread has ended while another is running', () => {
    const { machine, scan, group, server } = busyMachine(3)
    machine.start({ of: server, isMarked: true, group: 9_999 })
    const task = machine.tasks.get(server)
    if (task !== undefined) Object.assign(task, { isZombie: true })
    const found = scan.find(group)
    expect(ids(found)).toEqual([server])
    expect(ids(scan.find({ ...group, started: undefined }))).toEqual([server])
    expect(found?.map((member) => scan.runs(member))).toEqual([true])
  })

  test('include one that is just executing another program', () => {
    const { machine, scan, group, server } = busyMachine(3)
    const task = machine.tasks.get(server)
    if (task !== undefined) task.isExecuting = true
    let reads = 0
    machine.beforeAnswer = () => {
      reads += 1
      if (reads > 14 && task !== undefined) task.isExecuting = false
    }
    expect(ids(scan.find(group))).toEqual([server])
  })

  test('without an environment are inspected only a few times', () => {
    const { machine, scan, group, server } = busyMachine(3)
    const task = machine.tasks.get(server)
    if (task !== undefined) task.isExecuting = true
    expect(scan.find(group)).toEqual([])
    expect(machine.reads).toBeLessThan(40)
  })

  test('include the newest processes of this machine', async () => {
    const { spawn } = await import('node:child_process')
    const scan = new ProcessScan()
    const started = scan.moment()
    const mark = 'a-mark-of-this-test'
    const child = spawn('sleep', ['1000'], {
      detached: true,
      stdio: 'ignore',
      env: { ...process.env, HALTING_CALL: mark },
    })
    try {
      const group = { groupId: child.pid ?? 0, mark, started }
      const found = process.platform === 'linux' ? [child.pid] : undefined
      expect(ids(scan.find(group))).toEqual(found)
      expect(ids(scan.find({ ...group, started: undefined }))).toEqual(found)
    } finally {
      child.kill('SIGKILL')
    }
  })
})
