import type { InputCheck, JsonObject } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { type Field, filledText, inputForm, type InputForm, oneOf, optional, text } from '../input.ts'
import { type NewTask, subjectLine, type TaskFields } from './change-tasks.ts'
import { emptySubject, expectedIds } from './task-list-texts.ts'

/** Input of the TaskCreate tool. */
export interface TaskCreateInput extends NewTask {}

/** Input of the TaskUpdate tool. */
export interface TaskUpdateInput extends TaskFields {
  /** Id of the task. */
  readonly taskId: string
}

/** Input of the TaskGet tool. */
export interface TaskGetInput {
  /** Id of the task. */
  readonly taskId: string
}

const object: Field<JsonObject, true> = {
  required: true,
  schema: { type: 'object', additionalProperties: true },
  expected: 'an object',
  accepts: isJsonObject,
}

const ids: Field<readonly string[], true> = {
  required: true,
  schema: { type: 'array', items: { type: 'string' } },
  expected: expectedIds,
  accepts: (value): value is readonly string[] => Array.isArray(value) && value.every((id) => typeof id === 'string'),
}

const fields = {
  subject: filledText('Such as "Run the tests"'),
  description: optional(text('What needs to be done')),
  activeForm: optional(text('Such as "Running the tests"')),
  metadata: optional(object),
}

export const taskCreateForm: InputForm<TaskCreateInput> = checkingSubject(
  inputForm<TaskCreateInput>('TaskCreate', fields),
)

export const taskUpdateForm: InputForm<TaskUpdateInput> = checkingSubject(
  inputForm<TaskUpdateInput>('TaskUpdate', {
    taskId: filledText('Such as "1"'),
    status: optional(oneOf('How far it is', ['pending', 'in_progress', 'completed', 'deleted'])),
    ...fields,
    subject: optional(fields.subject),
    addBlockedBy: optional(ids),
    addBlocks: optional(ids),
    owner: optional(text('Who works on it')),
  }),
)

export const taskGetForm: InputForm<TaskGetInput> = inputForm<TaskGetInput>('TaskGet', {
  taskId: filledText('Such as "1"'),
})

export const taskListForm: InputForm<object> = inputForm<object>('TaskList', {})

/** Rejects an empty subject; a subject of only spaces is also empty. */
function checkingSubject<Input extends { readonly subject?: string }>(form: InputForm<Input>): InputForm<Input> {
  return {
    ...form,
    validate(input): InputCheck<Input> {
      const check = form.validate(input)
      const isEmpty = check.valid && check.input.subject !== undefined && subjectLine(check.input.subject) === ''
      return isEmpty ? { valid: false, message: emptySubject } : check
    },
  }
}
