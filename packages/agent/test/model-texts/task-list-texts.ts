import type { SamplesOf } from '../../../core/test/support/model-texts.ts'
import type { Task, TaskList } from '../../src/tools/task-list/task-list.ts'

const first: Task = {
  id: '1',
  subject: 'Read the code',
  description: 'All of src/parser.',
  status: 'completed',
  blockedBy: [],
}
const second: Task = {
  ...first,
  id: '2',
  subject: 'Fix the parser',
  description: '',
  status: 'pending',
  owner: 'helper',
}
const third: Task = {
  ...second,
  id: '3',
  subject: 'Run the tests',
  blockedBy: ['2'],
  metadata: { suite: 'parser' },
}
const list: TaskList = { tasks: [first, second, third], lastId: 3 }
const done: TaskList = { tasks: [first], lastId: 3 }
const none: TaskList = { tasks: [], lastId: 3 }
const waiting: TaskList = { tasks: [first, { ...second, status: 'in_progress' }], lastId: 3 }

export const samples: SamplesOf<typeof import('../../src/tools/task-list/task-list-texts.ts')> = {
  taskCreated: [[second]],
  taskUpdated: [
    ['2', ['status'], waiting],
    ['2', ['subject'], list],
    ['2', ['status'], none],
  ],
  taskDeleted: [['2', done]],
  todosWritten: [[list]],
  taskLines: [[list]],
  taskText: [
    [first, list],
    [second, list],
    [third, list],
  ],
  unknownTasks: [
    [['9'], list],
    [Array.from({ length: 60 }, (_, index) => String(index + 9)), list],
    [['8', '9'], list],
    [['1'], none],
  ],
  blockedByItself: [[['1', '3', '2', '1']]],
  fullTaskList: [[200]],
  nothingToUpdate: [['2']],
}
