import { runsAnything } from '@halting/policy'
import {
  deniedByUser,
  deniedWithInstructions,
  isJsonObject,
  type PermissionAnswer,
  type PermissionUpdate,
} from '@halting/core/adapters'
import type { Question } from '@halting/core/session'
import { many } from '../../io/figures.ts'
import { revealHidden, revealHiddenInLine } from '../../io/reveal-hidden.ts'
import { unconfinedRemark } from '../../frontends/unconfined-remark.ts'
import { actionQuestion } from './action-question.ts'
import { hanging } from './lines.ts'
import {
  choiceLines,
  otherInstructionsLabel,
  interruptAnswer,
  ruler,
  type Choice,
  type QuestionOptions,
  type QuestionView,
  writingKeys,
  writtenLines,
  scrollableLines,
  type ScrollableLines,
} from './question-parts.ts'
import { editableInput, subjectLines } from './question-subject.ts'
import { isPressed, textField, typedCharacter, type TextField } from './text-field.ts'
import { toolTitle } from './tool-title.ts'
import { resolveToolPath, isInsideAny } from '@halting/policy/files'
import { isAbsolute, relative } from 'node:path'
import { patchToolName, patchFileViews } from '../../frontends/patch-files.ts'

type Destination = PermissionUpdate['destination']

const destinations = [
  'session',
  'localSettings',
  'userSettings',
  'projectSettings',
] as const satisfies readonly Destination[]
const destinationNames: { readonly [destination in Destination]: string } = {
  session: 'in this session',
  localSettings: 'in this folder',
  userSettings: 'in all folders',
  projectSettings: 'in this folder, shared',
}

function isOfProject(destination: Destination): boolean {
  return destination === 'localSettings' || destination === 'projectSettings'
}

/** The text that the person is writing: instructions instead of the call, or a changed input. */
type Writing =
  | { readonly type: 'instead'; readonly field: TextField }
  | { readonly type: 'edit'; readonly field: TextField; problem: string }

/**
 * Asks whether a call may run (spec R-TERM-30 to R-TERM-33). The caller waits until nobody is typing. Enter approves,
 * unless the call may do harm or a part of it was not visible yet; then Enter does nothing.
 */
export function permissionQuestion(options: QuestionOptions): QuestionView {
  return new PermissionQuestionView(options)
}

class PermissionQuestionView implements QuestionView {
  readonly #options: QuestionOptions
  readonly #question: Question
  readonly #answer: QuestionOptions['answer']
  readonly #changed: QuestionOptions['changed']
  readonly #style: QuestionOptions['style']
  readonly #cwd: string
  readonly #toolName: string
  readonly #input: Question['input']
  readonly #suggestions: Question['suggestions']
  readonly #isHarmful: boolean
  readonly #rule: Extract<PermissionUpdate, { readonly rules: unknown }> | undefined
  readonly #mode: Extract<PermissionUpdate, { readonly type: 'setMode' }> | undefined
  readonly #subject: ScrollableLines
  // On a small screen, the subject of the call comes first and the reason after it.
  readonly #withHead: ScrollableLines
  // If a suggestion is stored outside the project, settings of the project do not apply.
  readonly #places: readonly Destination[]
  #shown: ScrollableLines
  #destination: Destination
  #writing: Writing | undefined
  /** The calls that a single key would approve: those fully visible on the screen. */
  #alike: readonly Question[] = []

  constructor(options: QuestionOptions) {
    this.#options = options
    ;({
      question: this.#question,
      answer: this.#answer,
      changed: this.#changed,
      style: this.#style,
      cwd: this.#cwd,
    } = options)
    ;({ toolName: this.#toolName, input: this.#input, suggestions: this.#suggestions } = this.#question)
    this.#isHarmful = mayHarm(this.#toolName, this.#input, this.#cwd)
    ;[this.#rule] = this.#suggestions.flatMap((update) =>
      update.type === 'addRules' && update.behavior === 'allow' ? [update] : [],
    )
    this.#mode = this.#suggestions.find((update) => update.type === 'setMode')
    this.#subject = scrollableLines((width) => subjectLines(options, width, Infinity), this.#style)
    this.#withHead = scrollableLines(
      (width) => [...subjectLines(options, width, Infinity), ...headLines(options, width)],
      this.#style,
    )
    this.#places = destinations.filter((each) => this.#rule?.destination === 'localSettings' || !isOfProject(each))
    this.#shown = this.#subject
    this.#destination = this.#rule?.destination ?? 'session'
  }

  get unsentText(): QuestionView['unsentText'] {
    return this.#writing?.type === 'instead' ? this.#writing.field.text : ''
  }

  isAnswerKey(data: string): boolean {
    const typed = typedCharacter(data)
    return this.#writing === undefined && this.#choices(true).some(({ key }) => key === typed)
  }

  render(width: number): readonly string[] {
    return this.#writing === undefined
      ? this.#askingLines(width)
      : [
          ruler(width, this.#style),
          ...headLines(this.#options, width),
          ...writingLines(this.#writing, this.#options, width),
        ]
  }

  handleInput(data: string): void {
    if (this.#writing !== undefined) return this.#handleWriting(this.#writing, data)
    if (isPressed(data, 'escape')) return this.#answerWith(interruptAnswer)
    if (isPressed(data, 'enter'))
      return this.#isHarmful || !this.#shown.isSeen ? undefined : this.#answerWith({ behavior: 'allow' })
    if (this.#shown.handleInput(data)) return this.#changed()
    if (isPressed(data, 'tab') && this.#rule !== undefined) {
      this.#destination = this.#places[(this.#places.indexOf(this.#destination) + 1) % this.#places.length] ?? 'session'
      return this.#changed()
    }
    const typed = typedCharacter(data)
    this.#choices(true)
      .find(({ key }) => key === typed)
      ?.choose()
  }

  #isAlike(other: Question): boolean {
    return other.toolName === this.#toolName && !mayHarm(this.#toolName, other.input, this.#cwd)
  }

  #others(width: number): readonly string[] {
    const waiting = this.#options.waiting()
    const lines = waitingLines(waiting, this.#options, width)
    this.#alike = lines.length <= maxWaitingLines ? waiting.filter((other) => this.#isAlike(other)) : []
    return lines.slice(0, maxWaitingLines)
  }

  #answerWith(permissionAnswer: PermissionAnswer): void {
    this.#writing = undefined
    this.#answer(this.#question.id, permissionAnswer)
  }

  #allowing(updates: readonly PermissionUpdate[]): PermissionAnswer {
    return {
      behavior: 'allow',
      updatedPermissions: updates,
    }
  }

  #choices(isSeen: boolean): readonly Choice[] {
    return [
      {
        key: 'y',
        label: this.#isHarmful || !isSeen ? 'yes' : 'yes (Enter)',
        choose: () => this.#answerWith({ behavior: 'allow' }),
      },
      ...this.#ruleChoices(),
      ...this.#modeChoices(),
      {
        key: 'e',
        label: 'edit',
        choose: () => this.#write({ type: 'edit', field: textField(editableInput(this.#question).text), problem: '' }),
      },
      { key: 'n', label: 'no', choose: () => this.#answerWith({ behavior: 'deny', message: deniedByUser }) },
      { key: 'i', label: otherInstructionsLabel, choose: () => this.#write({ type: 'instead', field: textField('') }) },
      ...this.#allAlikeChoices(),
    ]
  }

  #ruleChoices(): readonly Choice[] {
    const offered = this.#rule
    if (offered === undefined) return []
    const label = `yes, do not ask again for ${rulesText(offered.rules)} [${destinationNames[this.#destination]} ▾ Tab]`
    return [
      {
        key: 'a',
        label,
        choose: () => this.#answerWith(this.#allowing([{ ...offered, destination: this.#destination }])),
      },
    ]
  }

  #modeChoices(): readonly Choice[] {
    const offered = this.#mode
    if (offered === undefined) return []
    return [
      {
        key: 'm',
        label: `yes, and ${modeText(offered.mode)} from now on`,
        choose: () => this.#answerWith(this.#allowing([offered])),
      },
    ]
  }

  #allAlikeChoices(): readonly Choice[] {
    if (this.#alike.length <= 1 || this.#isHarmful) return []
    return [
      {
        key: 'A',
        label: `yes to all ${this.#alike.length} ${toolTitle(this.#toolName, {}, '').name} calls`,
        choose: () => {
          for (const { id } of this.#alike) this.#answer(id, { behavior: 'allow' })
        },
      },
    ]
  }

  #write(next: Writing | undefined): void {
    this.#writing = next
    this.#changed()
  }

  #handleWriting(now: Writing, data: string): void {
    if (isPressed(data, 'escape')) return this.#write(undefined)
    if (data === '\n' || !isPressed(data, 'enter')) {
      now.field.handleInput(data)
      return this.#changed()
    }
    const { text } = now.field
    if (text.trim() === '') return this.#write(undefined)
    if (now.type === 'instead')
      return this.#answerWith({
        behavior: 'deny',
        message: deniedWithInstructions(text.trim()),
      })
    const read = editableInput(this.#question).read(text)
    if (typeof read !== 'string') return this.#answerWith({ behavior: 'allow', updatedInput: read })
    now.problem = read
    this.#changed()
  }

  #askingLines(width: number): readonly string[] {
    const rows = this.#options.rows()
    const waits = [...this.#others(width), ...freedomLines(this.#rule?.rules ?? [], this.#options, width)]
    const head = [ruler(width, this.#style), ...headLines(this.#options, width)]
    // One line of the screen stays for printed text, and one for the status bar.
    const room = rows - 2 - waits.length - choiceLines(this.#choices(true), width, this.#style).length
    this.#shown = room - head.length >= 3 ? this.#subject : this.#withHead
    const above = this.#shown === this.#subject ? head : []
    const lines = this.#shown.lines(width, Math.min(Math.max(3, rows - 12), room - above.length))
    return [...above, ...lines, ...waits, ...choiceLines(this.#choices(this.#shown.isSeen), width, this.#style)]
  }
}

/** Maximum number of waiting calls that are shown. Further ones cannot be approved together. */
const maxWaitingLines = 4

/** The action, who asks, and why, without the suggested rule, which is offered below. */
function headLines({ question, style, cwd }: QuestionOptions, width: number): readonly string[] {
  const { toolName, input, agentId } = question
  const who = agentId === undefined ? [] : [`Asked by the agent ${revealHiddenInLine(agentId, 60)}.`]
  const why = reasonOf(question)
  const remark = unconfinedRemark(question)
  const parts = [
    actionQuestion(toolName, input, cwd),
    ...who,
    ...(why === '' ? [] : [revealHiddenInLine(why, 400)]),
    ...(remark === undefined ? [] : [remark]),
  ]
  return hanging('? ', parts.join(' '), width).map(style.bold)
}

/** Why a call needs approval; '' if only because no rule allows it. A leading program name keeps its spelling. */
function reasonOf({ toolName, reason, input }: Question): string {
  const why = reason.replace(/\s*The rules? .+ would allow it\.$/s, '').trim()
  const says =
    toolName === 'Bash' || toolName === 'Wait' ? /^no rule allows (?:this command|it)\.?$/i : /^no rule allows /i
  if (says.test(why)) return ''
  const [first = ''] = why.split(' ')
  return namesProgram(first, input) ? why : why.slice(0, 1).toUpperCase() + why.slice(1)
}

/** Whether the first word of a reason is part of the command, and not a common word. */
function namesProgram(word: string, input: unknown): boolean {
  const command = isJsonObject(input) ? input['command'] : undefined
  if (typeof command !== 'string' || /^(?:it|its|the|a|an|no|only)$/i.test(word)) return false
  return command.split(/[^\w.+-]+/).includes(word)
}

function waitingLines(
  waiting: readonly Question[],
  { question, style, cwd }: QuestionOptions,
  width: number,
): readonly string[] {
  const others = waiting.filter(({ id }) => id !== question.id)
  if (others.length === 0) return []
  const calls = others.map(({ toolName, input }: Question) => {
    const { name, about } = toolTitle(toolName, input, cwd)
    // Approving all calls includes this one, so it is shown to its end.
    const isCommand = toolName === 'Bash' || toolName === 'Wait'
    const subject = isCommand && typeof input['command'] === 'string' ? input['command'] : about
    return revealHidden(`${name} ${subject}`).replaceAll('\n', '⏎')
  })
  return hanging(' ', `${many(others.length, 'more call')} waiting: ${calls.join(', ')}`, width).map(style.dim)
}

function writingLines(writing: Writing, { style }: QuestionOptions, width: number): readonly string[] {
  const asks = writing.type === 'edit' ? 'Run this instead:' : 'What should the agent do instead?'
  const problem =
    writing.type === 'edit' && writing.problem !== '' ? hanging('  ', writing.problem, width).map(style.red) : []
  return [
    ...hanging('  ', asks, width),
    ...writtenLines(writing.field, width),
    ...problem,
    ...choiceLines(writingKeys(writing.type === 'edit' ? 'run' : 'send'), width, style),
  ]
}

type Rules = Extract<PermissionUpdate, { readonly rules: unknown }>['rules']

function rulesText(rules: Rules): string {
  return rules.map((rule) => revealHiddenInLine(ruleText(rule), 120)).join(', ')
}

function ruleText({ toolName, ruleContent }: Rules[number]): string {
  return ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`
}

/** Warnings for rules that would allow any program (spec R-RULE-9c). */
function freedomLines(rules: Rules, { style }: QuestionOptions, width: number): readonly string[] {
  const found = new Set(rules.flatMap((rule) => runsAnything(ruleText(rule)) ?? []))
  return [...found].flatMap((text) => hanging(' ', revealHiddenInLine(text, 200), width)).map(style.yellow)
}

function modeText(mode: string): string {
  return mode === 'acceptEdits' ? 'accept edits' : `mode ${revealHiddenInLine(mode, 40)}`
}

/** Commands that delete or overwrite data. False positives are acceptable: only the default answer depends on it. */
const harmful = [
  /\b(?:rm|rmdir|unlink|shred|truncate|dd|srm|mkfs[.\w]*|del|Remove-Item)\b/,
  /\bgit\b[^|;&\n]*\bpush\b[^|;&\n]*(?:\s--force|\s-[a-zA-Z]*f|\s--delete|\s--mirror|\s\+\S|\s:\S)/,
  /\bgit\b[^|;&\n]*\b(?:reset\s[^|;&\n]*--hard|clean\b|checkout\s[^|;&\n]*(?:-f|--)|restore\b|branch\s[^|;&\n]*-D|stash\s+(?:drop|clear)|filter-branch)/,
  /\bfind\b[^|;&\n]*\s-(?:delete|exec|execdir|ok)\b/,
  /\s--delete\b/,
  // Downloaded code runs unseen, and root may do anything.
  /\|\s*(?:sudo\s+)?(?:ba|z|da|k|fi)?sh\b/,
  /\bsudo\b/,
  /\b(?:drop|truncate)\s+(?:table|database|schema)\b/i,
]

/** Whether a call may delete, force-push, run downloaded code, or write outside the folder. Then Enter does not approve it (spec R-TERM-31). */
export function mayHarm(tool: string, input: unknown, cwd: string): boolean {
  if (!isJsonObject(input)) return true
  const path = input['file_path'] ?? input['notebook_path']
  if (tool === 'Edit' || tool === 'Write' || tool === 'NotebookEdit')
    return typeof path !== 'string' || isOutside(path, cwd)
  if (tool === patchToolName) {
    const files = patchFileViews(input)
    const paths = files.flatMap((file) => [file.path, file.target ?? file.path])
    return (
      files.length === 0 || files.some(({ kind }) => kind === 'delete') || paths.some((each) => isOutside(each, cwd))
    )
  }
  const command = input['command']
  if ((tool !== 'Bash' && tool !== 'Wait') || typeof command !== 'string') return false
  return harmful.some((pattern) => pattern.test(command)) || writesOutside(command, cwd)
}

/** Whether a path, resolved like a tool would, is outside the folder. */
function isOutside(path: string, cwd: string): boolean {
  const called = resolveToolPath(path, cwd)
  const from = relative(cwd, called)
  return from.startsWith('..') || isAbsolute(from) || !isInsideAny(called, [cwd])
}

/** Whether a command redirects, copies or moves to a path outside the folder. */
function writesOutside(command: string, cwd: string): boolean {
  const targets = [...command.matchAll(/>>?\|?\s*(['"]?)([^\s'"|;&<>]+)\1/g)].map(([, , target = '']) => target)
  const moves = /\b(?:cp|mv|install|ln|rsync|tee|scp)\b/.test(command)
    ? [...command.matchAll(/\s(['"]?)((?:[~/$]|\.\.)[^\s'"|;&<>]*)\1/g)].map(([, , target = '']) => target)
    : []
  return [...targets, ...moves].some(
    (target) => target !== '/dev/null' && (/^[~$]/.test(target) || isOutside(target, cwd)),
  )
}
