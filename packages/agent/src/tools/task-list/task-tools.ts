import type { JsonObject, Tool, ToolContext, ToolOutput } from '@halting/core'
import type { AnyLeafTool } from '@halting/core/adapters'
import { schemaOfSome } from '../input.ts'
import { errorResult } from '../result.ts'
import { createdTask, taskId, updatedTask } from './change-tasks.ts'
import {
  taskCreateForm,
  type TaskCreateInput,
  taskGetForm,
  type TaskGetInput,
  taskListForm,
  taskUpdateForm,
  type TaskUpdateInput,
} from './task-forms.ts'
import {
  blockedTasks,
  changedTaskList,
  memoOfChange,
  openBlockers,
  type Task,
  type TaskChange,
  type TaskList,
  taskListAt,
} from './task-list.ts'
import {
  blockedByItself,
  emptyList,
  fullTaskList,
  nothingToUpdate,
  taskCreated,
  taskDeleted,
  taskLines,
  taskText,
  taskUpdated,
  unknownTasks,
} from './task-list-texts.ts'

const maxTasks = 200

// Spec R-TODO-3.
/**
 * Runs one call after another, because each call changes the list that the previous one left. Changes only what the
 * model knows.
 */
const oneAfterAnother = { readOnly: true, concurrencySafe: false } as const

// Spec R-TODO-3.
/** The tools for the task list of a conversation. */
export function createTaskTools(): readonly AnyLeafTool[] {
  return [createTaskCreateTool(), createTaskUpdateTool(), createTaskListTool(), createTaskGetTool()]
}

function createTaskCreateTool(): Tool<TaskCreateInput> {
  return {
    name: 'TaskCreate',
    description: 'Adds a task to the task list. Use it for work of 3 or more steps.',
    inputSchema: schemaOfSome(taskCreateForm.schema, { subject: {}, description: {} }),
    validate: (input) => taskCreateForm.validate(input),
    ...oneAfterAnother,
    execute(input, context) {
      const list = taskListAt(context)
      if (list.tasks.length >= maxTasks) return errorResult(fullTaskList(maxTasks))
      const task = createdTask(list, input)
      const { id, subject, description } = task
      const details = { task: { id, subject, ...(description !== '' && { description }) } }
      return changedOutput(list, { changed: [task], deleted: [] }, () => taskCreated(task), details)
    },
  }
}

function createTaskUpdateTool(): Tool<TaskUpdateInput> {
  return {
    name: 'TaskUpdate',
    description:
      'Changes a task. Set it in_progress when you begin it, and completed as soon as it is done and checked.',
    inputSchema: schemaOfSome(taskUpdateForm.schema, {
      taskId: {},
      status: {},
      subject: {},
      description: {},
      addBlockedBy: {},
    }),
    validate: (input) => taskUpdateForm.validate(input),
    ...oneAfterAnother,
    execute({ taskId: rawId, ...fields }, context) {
      const list = taskListAt(context)
      const id = taskId(rawId)
      const outcome = updatedTask(list, rawId, fields)
      if (outcome.kind === 'unknown') return notUpdated(id, unknownTasks(outcome.ids, list))
      if (outcome.kind === 'cycle') return notUpdated(id, blockedByItself(outcome.path))
      const { before, change, fields: names } = outcome
      if (names.length === 0) return notUpdated(id, nothingToUpdate(id))
      const isDeleted = fields.status === 'deleted'
      const to = isDeleted ? 'deleted' : (change.changed.find((task) => task.id === id) ?? before).status
      const details = {
        success: true,
        taskId: id,
        updatedFields: names,
        ...(to !== before.status && { statusChange: { from: before.status, to } }),
      }
      const text = (after: TaskList): string => (isDeleted ? taskDeleted(id, after) : taskUpdated(id, names, after))
      return changedOutput(list, change, text, details)
    },
  }
}

function notUpdated(id: string, error: string): ToolOutput {
  return { ...errorResult(error), details: { success: false, taskId: id, updatedFields: [], error } }
}

function createTaskListTool(): Tool<object> {
  return {
    name: 'TaskList',
    description: 'Lists all tasks with their status.',
    inputSchema: schemaOfSome(taskListForm.schema, {}),
    validate: (input) => taskListForm.validate(input),
    ...oneAfterAnother,
    execute(_, context: ToolContext) {
      const list = taskListAt(context)
      const tasks = list.tasks.map((task): JsonObject => {
        const { id, subject, status, owner } = task
        return { id, subject, status, ...(owner !== undefined && { owner }), blockedBy: openBlockers(list, task) }
      })
      return { content: list.tasks.length === 0 ? emptyList : taskLines(list), details: { tasks } }
    },
  }
}

function createTaskGetTool(): Tool<TaskGetInput> {
  return {
    name: 'TaskGet',
    description: 'Shows one task with its description.',
    inputSchema: schemaOfSome(taskGetForm.schema, { taskId: {} }),
    validate: (input) => taskGetForm.validate(input),
    ...oneAfterAnother,
    execute(input, context) {
      const list = taskListAt(context)
      const id = taskId(input.taskId)
      const task = list.tasks.find((each) => each.id === id)
      if (task === undefined) return { ...errorResult(unknownTasks([id], list)), details: { task: null } }
      const { metadata, owner, activeForm: _, ...known } = task
      const others = { ...(owner !== undefined && { owner }), ...(metadata !== undefined && { metadata }) }
      return {
        content: taskText(task, list),
        details: { task: { ...known, ...others, blocks: blockedTasks(list, task) } },
      }
    },
  }
}

function changedOutput(
  before: TaskList,
  change: TaskChange,
  text: (after: TaskList) => string,
  details: JsonObject,
): ToolOutput {
  const after = changedTaskList(before, change)
  return {
    content: text(after),
    // Programs that show the list use this full list.
    details: { ...details, taskList: after.tasks.map(shownTask) },
    memo: memoOfChange(change),
  }
}

function shownTask({ id, subject, status, activeForm }: Task): JsonObject {
  return { id, subject, status, ...(activeForm !== undefined && { activeForm }) }
}
