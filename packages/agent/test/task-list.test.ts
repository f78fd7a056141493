// Spec R-TODO-3, R-TODO-3a, R-TODO-4: the task list of TaskCreate, TaskUpdate, TaskList and TaskGet.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { codingAgent } from '@halting/agent'
import { roughTokens } from '@halting/core/adapters'
import { type Json, type SdkMessage, Transcript, type TranscriptEntry } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { createdTask, updatedTask, type TaskFields } from '../src/tools/task-list/change-tasks.ts'
import { createTaskTools } from '../src/tools/task-list/task-tools.ts'
import {
  changedTaskList,
  emptyTaskList,
  memoOfChange,
  replacement,
  type TaskList,
  taskListOf,
  type TaskStatus,
} from '../src/tools/task-list/task-list.ts'
import {
  blockedByItself,
  emptyList,
  emptySubject,
  fullTaskList,
  nothingToUpdate,
  taskCreated,
  unknownTasks,
} from '../src/tools/task-list/task-list-texts.ts'
import { codingTools } from './support/harness.ts'

describe('the tools', () => {
  test('create, update, list and show tasks, with what programs read', async () => {
    const { use } = codingTools()
    const first = await use('TaskCreate', { subject: ' Read\n the code ', description: 'All of it' })
    const task = { id: '1', subject: 'Read the code' }
    expect(first.text).toBe(taskCreated({ ...task, description: '', status: 'pending', blockedBy: [] }))
    expect(first.details).toEqual({
      task: { ...task, description: 'All of it' },
      taskList: [{ ...task, status: 'pending' }],
    })
    await use('TaskCreate', { subject: 'Change it', activeForm: 'Changing it', metadata: { size: 's', tries: 1 } })
    const update = await use('TaskUpdate', {
      taskId: '#2',
      addBlockedBy: ['#1'],
      owner: 'me',
      metadata: { tries: null },
    })
    expect(update).toMatchObject({
      isError: false,
      text: expect.stringMatching(
        /task #2 \(owner, metadata, blockedBy\)\. 0 of 2 completed\. Next: #1 Read the code$/,
      ),
      details: { success: true, taskId: '2', updatedFields: ['owner', 'metadata', 'blockedBy'] },
    })
    expect((await use('TaskList', {})).text).toBe(
      '#1 [pending] Read the code\n#2 [pending] Change it (owner: me; blocked by #1)',
    )
    expect((await use('TaskUpdate', { taskId: '1', status: 'completed' })).details).toMatchObject({
      statusChange: { from: 'pending', to: 'completed' },
      taskList: [
        { id: '1', status: 'completed' },
        { id: '2', status: 'pending', activeForm: 'Changing it' },
      ],
    })
    expect((await use('TaskList', {})).details).toEqual({
      tasks: [
        { id: '1', subject: 'Read the code', status: 'completed', blockedBy: [] },
        { id: '2', subject: 'Change it', status: 'pending', owner: 'me', blockedBy: [] },
      ],
    })
    const shown = await use('TaskGet', { taskId: '2' })
    expect(shown.text.split('\n')).toEqual([
      'Task #2: Change it',
      'Status: pending',
      'Owner: me',
      'Blocked by: #1',
      'Metadata: {"size":"s"}',
    ])
    expect((await use('TaskGet', { taskId: '1' })).details).toEqual({
      task: { ...task, description: 'All of it', status: 'completed', blockedBy: [], blocks: ['2'] },
    })
  })

  test('do not reuse the id of a deleted task', async () => {
    const { use } = codingTools()
    await use('TaskCreate', { subject: 'a' })
    await use('TaskCreate', { subject: 'b' })
    await use('TaskUpdate', { taskId: '1', addBlockedBy: ['2'] })
    expect((await use('TaskUpdate', { taskId: '2', status: 'deleted' })).details).toMatchObject({
      statusChange: { from: 'pending', to: 'deleted' },
      taskList: [{ id: '1' }],
    })
    expect((await use('TaskCreate', { subject: 'c' })).details).toMatchObject({ task: { id: '3' } })
    expect((await use('TaskList', {})).text).toBe('#1 [pending] a\n#3 [pending] c')
  })

  test('reject what cannot be done as a whole, and change nothing', async () => {
    const { use } = codingTools()
    expect((await use('TaskList', {})).text).toBe(emptyList)
    expect(await use('TaskGet', { taskId: '1' })).toMatchObject({
      isError: true,
      text: unknownTasks(['1'], emptyTaskList),
    })
    for (const subject of ['a', 'b', 'c']) await use('TaskCreate', { subject })
    await use('TaskUpdate', { taskId: '2', addBlockedBy: ['1'] })
    await use('TaskUpdate', { taskId: '3', addBlockedBy: ['2'] })
    const before = await use('TaskList', {})
    const refusals = [
      [{ taskId: '9', status: 'completed' }, /#9.*#1, #2, #3/],
      [{ taskId: '1', status: 'completed', addBlocks: ['2', '7', '8'] }, /#7, #8.*#1, #2, #3/],
      [{ taskId: '1', status: 'completed', addBlockedBy: ['3'] }, blockedByItself(['1', '3', '2', '1'])],
      [{ taskId: '3', addBlocks: ['1'] }, blockedByItself(['1', '3', '2', '1'])],
      [{ taskId: '1', addBlockedBy: ['1'] }, blockedByItself(['1', '1'])],
      [{ taskId: '1', status: 'pending' }, nothingToUpdate('1')],
      [{ taskId: '1', subject: ' \n' }, emptySubject],
    ] as const
    for (const [input, error] of refusals) {
      const { isError, text } = await use('TaskUpdate', input)
      expect(isError).toBe(true)
      expect(text).toMatch(typeof error === 'string' ? new RegExp(`^${escaped(error)}$`) : error)
    }
    expect(await use('TaskCreate', { subject: '  ' })).toMatchObject({ isError: true, text: emptySubject })
    expect((await use('TaskList', {})).text).toBe(before.text)
  })

  test('allow at most 200 tasks', async () => {
    const { use } = codingTools()
    for (let count = 0; count < 200; count++) await use('TaskCreate', { subject: 'a' })
    expect(await use('TaskCreate', { subject: 'a' })).toMatchObject({ isError: true, text: fullTaskList(200) })
  })

  test('TaskUpdate and TaskCreate follow a list of TodoWrite, which keeps known fields of a task', async () => {
    const { use } = codingTools()
    await use('TodoWrite', {
      todos: [
        { content: 'a', status: 'in_progress' },
        { content: 'b', status: 'pending' },
      ],
    })
    await use('TaskCreate', { subject: 'c', description: 'more' })
    await use('TaskUpdate', { taskId: '1', status: 'completed' })
    await use('TodoWrite', {
      todos: [
        { content: 'c', status: 'pending' },
        { content: 'a', status: 'completed' },
      ],
    })
    expect((await use('TaskList', {})).text).toBe('#3 [pending] c\n#1 [completed] a')
    expect((await use('TaskGet', { taskId: '3' })).text).toContain('Description: more')
  })

  test('cost at most 260 tokens of each request', () => {
    const wire = createTaskTools().map(({ name, description, inputSchema }) => ({
      name,
      description,
      input_schema: inputSchema,
    }))
    expect(roughTokens.estimate(JSON.stringify(wire))).toBeLessThanOrEqual(260)
  })
})

const escaped = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)

/** A random call. Ids may not exist. */
const operation = fc.oneof(
  fc.record({ kind: fc.constant('create' as const), subject: fc.string({ minLength: 1 }) }),
  fc.record({
    kind: fc.constant('update' as const),
    id: fc.integer({ min: 1, max: 8 }),
    status: fc.option(fc.constantFrom('pending', 'in_progress', 'completed', 'deleted'), { nil: undefined }),
    blockers: fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 2 }),
    blocks: fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 2 }),
  }),
  fc.record({
    kind: fc.constant('todos' as const),
    todos: fc.array(
      fc.record({
        content: fc.constantFrom('a', 'b', 'c'),
        status: fc.constantFrom<TaskStatus>('pending', 'in_progress', 'completed'),
      }),
      { maxLength: 4 },
    ),
  }),
)
type Operation = typeof operation extends fc.Arbitrary<infer Value> ? Value : never

/** The list after a call, and its recorded entry. */
function stepped(list: TaskList, call: Operation, index: number): readonly [TaskList, TranscriptEntry] {
  const change = changeBy(list, call)
  const id = `call_${index}`
  const memos =
    change === undefined ? undefined : { memos: { [id]: JSON.parse(JSON.stringify(memoOfChange(change))) as Json } }
  const entry: TranscriptEntry = {
    kind: 'user',
    id: `entry_${index}`,
    origin: 'tool_results',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: '.' }] },
    ...memos,
  }
  return [change === undefined ? list : changedTaskList(list, change), entry]
}

function changeBy(list: TaskList, call: Operation) {
  switch (call.kind) {
    case 'create':
      return { changed: [createdTask(list, call)], deleted: [] }
    case 'todos':
      return replacement(list, call.todos)
    case 'update': {
      const fields: TaskFields = {
        ...(call.status !== undefined && { status: call.status }),
        addBlockedBy: call.blockers.map(String),
        addBlocks: call.blocks.map(String),
      }
      const outcome = updatedTask(list, String(call.id), fields)
      return outcome.kind === 'updated' ? outcome.change : undefined
    }
  }
}

/** The simplest model of the list: tasks by id, with only statuses and blockers. */
class SimpleList {
  readonly tasks = new Map<number, { subject: string; status: string; blockers: Set<number> }>()
  #last = 0

  do(call: Operation): void {
    if (call.kind === 'create') this.#create(call.subject.replaceAll(/\s+/g, ' ').trim(), 'pending')
    else if (call.kind === 'update') this.#update(call)
    else this.#replace(call.todos)
  }

  #create(subject: string, status: string): number {
    this.#last += 1
    this.tasks.set(this.#last, { subject, status, blockers: new Set() })
    return this.#last
  }

  #delete(id: number): void {
    this.tasks.delete(id)
    for (const { blockers } of this.tasks.values()) blockers.delete(id)
  }

  #update({ id, status, blockers, blocks }: Extract<Operation, { readonly kind: 'update' }>): void {
    const task = this.tasks.get(id)
    if (task === undefined) return
    if (status === 'deleted') return this.#delete(id)
    if (![...blockers, ...blocks].every((each) => this.tasks.has(each))) return
    const added = [...blockers.map((each) => [id, each] as const), ...blocks.map((each) => [each, id] as const)]
    const edges = [...this.tasks].flatMap(([from, { blockers: all }]) => [...all].map((to) => [from, to] as const))
    if (!isAcyclic([...edges, ...added])) return
    for (const [from, to] of added) this.tasks.get(from)?.blockers.add(to)
    if (status !== undefined) task.status = status
  }

  #replace(todos: readonly { readonly content: string; readonly status: string }[]): void {
    const kept = new Set<number>()
    for (const { content, status } of todos) {
      const known = [...this.tasks].find(([id, { subject }]) => subject === content && !kept.has(id))
      const id = known?.[0] ?? this.#create(content, status)
      const task = this.tasks.get(id)
      if (task !== undefined) task.status = status
      kept.add(id)
    }
    for (const id of this.tasks.keys()) if (!kept.has(id)) this.#delete(id)
  }
}

/** Removes tasks that are not blocked until none is left. */
function isAcyclic(edges: readonly (readonly [number, number])[]): boolean {
  let left = edges
  while (left.length > 0) {
    const free = left.filter(([, to]) => !left.some(([from]) => from === to))
    if (free.length === 0) return false
    left = left.filter((edge) => !free.includes(edge))
  }
  return true
}

const sorted = (numbers: readonly number[]): readonly number[] => numbers.toSorted((a, b) => a - b)

const plain = ({ tasks }: TaskList): unknown =>
  Object.fromEntries(
    tasks.map(({ id, subject, status, blockedBy }) => [
      id,
      { subject, status, blockers: sorted(blockedBy.map(Number)) },
    ]),
  )

test('any calls yield the list of a simple model, and its record yields the same list after a resume', () => {
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 30 }), (calls) => {
      const simple = new SimpleList()
      let list = emptyTaskList
      const entries: TranscriptEntry[] = []
      for (const [index, call] of calls.entries()) {
        simple.do(call)
        const [next, entry] = stepped(list, call, index)
        list = next
        entries.push(entry)
      }
      const wanted = Object.fromEntries(
        [...simple.tasks].map(([id, { subject, status, blockers }]) => [
          id,
          { subject, status, blockers: sorted([...blockers]) },
        ]),
      )
      expect(plain(list)).toEqual(wanted)
      // Records on disk are JSON; a rewind yields a shorter record.
      const stored = JSON.parse(JSON.stringify(Transcript.of(entries))) as unknown
      expect(taskListOf(Transcript.fromJSON(stored))).toEqual(list)
      expect(taskListOf(entries.slice(0, 3)).lastId).toBeLessThanOrEqual(list.lastId)
    }),
  )
})

describe('in a session', () => {
  async function opened(script: Parameters<typeof scriptedModel>[0], place: string, resume?: string) {
    const model = scriptedModel(script)
    const builder = await codingAgent({
      cwd: place,
      env: { HOME: join(place, 'home'), PATH: process.env['PATH'] },
      model,
      settingSources: [],
      contextWindow: 30_000,
      ...(resume !== undefined && { resume }),
    })
    const engine = await builder.engine()
    const results: unknown[] = []
    for await (const message of engine.submit(`Go. ${'Some words to make it long. '.repeat(900)}`)) {
      if (message.type === 'user' && message.tool_use_result !== undefined) results.push(message.tool_use_result)
    }
    return { builder, engine, model, results }
  }

  const create = (subject: string) => ({ name: 'TaskCreate', input: { subject } })
  const listing = { toolCalls: [{ name: 'TaskList', input: {} }] }

  test('calls of one message run one after another, and the list survives a resume and a compaction', async () => {
    const place = mkdtempSync(join(tmpdir(), 'halting-tasks-'))
    onTestFinished(() => rmSync(place, { recursive: true, force: true }))
    const script = [
      { toolCalls: [create('a'), create('b'), { name: 'TaskUpdate', input: { taskId: '2', addBlockedBy: ['1'] } }] },
      { toolCalls: [{ name: 'TaskUpdate', input: { taskId: 1, status: 'in_progress' } }] },
      'Done.',
    ]
    const first = await opened(script, place)
    const { sessionId } = first.builder
    await first.builder.dispose()
    const second = await opened([listing, 'Done.', 'A summary.', listing, 'Done.'], place, sessionId)
    onTestFinished(() => second.builder.dispose())
    const tasks = [
      { id: '1', subject: 'a', status: 'in_progress', blockedBy: [] },
      { id: '2', subject: 'b', status: 'pending', blockedBy: ['1'] },
    ]
    expect(second.results).toEqual([{ tasks }])
    const compacted: SdkMessage[] = []
    for await (const message of second.engine.compact()) compacted.push(message)
    expect(compacted).toContainEqual(expect.objectContaining({ subtype: 'compact_boundary' }))
    const again: unknown[] = []
    for await (const message of second.engine.submit('Again.'))
      if (message.type === 'user' && message.tool_use_result !== undefined) again.push(message.tool_use_result)
    expect(again).toEqual([{ tasks }])
    expect(JSON.stringify(second.model.requests.at(-1)?.messages)).toContain('#2 [pending] b (blocked by #1)')
  })
})
