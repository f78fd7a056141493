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
import { everyCharacter, everyCharacterInLine } from '../../io/seen.ts'
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
} from './question-parts.ts'
import { editableInput, subjectLines } from './question-subject.ts'
import { isPressed, textField, typedCharacter, type TextField } from './text-field.ts'
import { toolTitle } from './tool-title.ts'
import { calledPath, isInsideAny } from '@halting/policy/files'
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

/** What is written: a message in place of the call, or the call with another input. */
type Writing =
  | { readonly type: 'instead'; readonly field: TextField }
  | { readonly type: 'edit'; readonly field: TextField; problem: string }

/**
 * Asks whether a call may run (spec R-TERM-30 to R-TERM-33). Whoever shows it waits until nobody types. Enter says yes, but for what may do harm, and
 * while some of what is asked about was not seen: there it does nothing.
 */
export function permissionQuestion(options: QuestionOptions): QuestionView {
  const { question, answer, changed, style, cwd } = options
  const { toolName, input, suggestions } = question
  const isHarmful = mayHarm(toolName, input, cwd)
  const [rule] = suggestions.flatMap((update) =>
    update.type === 'addRules' && update.behavior === 'allow' ? [update] : [],
  )
  const mode = suggestions.find((update) => update.type === 'setMode')
  const isAlike = (other: Question): boolean => other.toolName === toolName && !mayHarm(toolName, other.input, cwd)
  const subject = scrollableLines((width) => subjectLines(options, width, Infinity), style)
  // On a screen with no room for both, what is asked about comes first, and why behind it.
  const withHead = scrollableLines(
    (width) => [...subjectLines(options, width, Infinity), ...headLines(options, width)],
    style,
  )
  // A rule that is not for the project is suggested where nothing would count that is kept for it.
  const places = destinations.filter((each) => rule?.destination === 'localSettings' || !isOfProject(each))
  let shown = subject
  let destination: Destination = rule?.destination ?? 'session'
  let writing: Writing | undefined
  /** Those that one key would answer: as they stand on the screen, to their end. */
  let alike: readonly Question[] = []
  const others = (width: number): readonly string[] => {
    const waiting = options.waiting()
    const lines = waitingLines(waiting, options, width)
    alike = lines.length <= mostWaitingLines ? waiting.filter(isAlike) : []
    return lines.slice(0, mostWaitingLines)
  }
  const say = (given: PermissionAnswer): void => {
    writing = undefined
    answer(question.id, given)
  }
  const allowing = (updates: readonly PermissionUpdate[]): PermissionAnswer => ({
    behavior: 'allow',
    updatedPermissions: updates,
  })

  const choices = (isSeen: boolean): readonly Choice[] => [
    { key: 'y', label: isHarmful || !isSeen ? 'yes' : 'yes (Enter)', choose: () => say({ behavior: 'allow' }) },
    ...(rule === undefined
      ? []
      : [
          {
            key: 'a',
            label: `yes, do not ask again for ${rulesText(rule.rules)} [${destinationNames[destination]} ▾ Tab]`,
            choose: () => say(allowing([{ ...rule, destination }])),
          },
        ]),
    ...(mode === undefined
      ? []
      : [{ key: 'm', label: `yes, and ${modeText(mode.mode)} from now on`, choose: () => say(allowing([mode])) }]),
    {
      key: 'e',
      label: 'edit',
      choose: () => write({ type: 'edit', field: textField(editableInput(question).text), problem: '' }),
    },
    { key: 'n', label: 'no', choose: () => say({ behavior: 'deny', message: deniedByUser }) },
    { key: 'i', label: otherInstructionsLabel, choose: () => write({ type: 'instead', field: textField('') }) },
    ...(alike.length > 1 && !isHarmful
      ? [
          {
            key: 'A',
            label: `yes to all ${alike.length} ${toolTitle(toolName, {}, '').name} calls`,
            choose: () => {
              for (const { id } of alike) answer(id, { behavior: 'allow' })
            },
          },
        ]
      : []),
  ]
  const write = (next: Writing | undefined): void => {
    writing = next
    changed()
  }

  const handleWriting = (now: Writing, data: string): void => {
    if (isPressed(data, 'escape')) return write(undefined)
    if (data === '\n' || !isPressed(data, 'enter')) {
      now.field.handleInput(data)
      return changed()
    }
    const { text } = now.field
    if (text.trim() === '') return write(undefined)
    if (now.type === 'instead')
      return say({
        behavior: 'deny',
        message: deniedWithInstructions(text.trim()),
      })
    const read = editableInput(question).read(text)
    if (typeof read !== 'string') return say({ behavior: 'allow', updatedInput: read })
    now.problem = read
    changed()
  }

  const askingLines = (width: number): readonly string[] => {
    const rows = options.rows()
    const waits = [...others(width), ...freedomLines(rule?.rules ?? [], options, width)]
    const head = [ruler(width, style), ...headLines(options, width)]
    // Of the screen one line is what was printed, and one the status below.
    const room = rows - 2 - waits.length - choiceLines(choices(true), width, style).length
    shown = room - head.length >= 3 ? subject : withHead
    const above = shown === subject ? head : []
    const lines = shown.lines(width, Math.min(Math.max(3, rows - 12), room - above.length))
    return [...above, ...lines, ...waits, ...choiceLines(choices(shown.isSeen), width, style)]
  }

  return {
    get unsentText() {
      return writing?.type === 'instead' ? writing.field.text : ''
    },
    isAnswerKey(data) {
      const typed = typedCharacter(data)
      return writing === undefined && choices(true).some(({ key }) => key === typed)
    },
    render: (width) =>
      writing === undefined
        ? askingLines(width)
        : [ruler(width, style), ...headLines(options, width), ...writingLines(writing, options, width)],
    handleInput(data) {
      if (writing !== undefined) return handleWriting(writing, data)
      if (isPressed(data, 'escape')) return say(interruptAnswer)
      if (isPressed(data, 'enter')) return isHarmful || !shown.isSeen ? undefined : say({ behavior: 'allow' })
      if (shown.handleInput(data)) return changed()
      if (isPressed(data, 'tab') && rule !== undefined) {
        destination = places[(places.indexOf(destination) + 1) % places.length] ?? 'session'
        return changed()
      }
      const typed = typedCharacter(data)
      choices(true)
        .find(({ key }) => key === typed)
        ?.choose()
    },
  }
}

/** More of them are not shown, and then not all are answered with one key. */
const mostWaitingLines = 4

/** The action, who asks, and why. The rule that would allow it is offered below. */
function headLines({ question, style, cwd }: QuestionOptions, width: number): readonly string[] {
  const { toolName, input, agentId } = question
  const who = agentId === undefined ? [] : [`Asked by the agent ${everyCharacterInLine(agentId, 60)}.`]
  const why = reasonOf(question)
  const remark = unconfinedRemark(question)
  const parts = [
    actionQuestion(toolName, input, cwd),
    ...who,
    ...(why === '' ? [] : [everyCharacterInLine(why, 400)]),
    ...(remark === undefined ? [] : [remark]),
  ]
  return hanging('? ', parts.join(' '), width).map(style.bold)
}

/** Why a call is asked about; '' where no more is to say than that no rule allows it. A program that it begins with stays as it is spelled. */
function reasonOf({ toolName, reason, input }: Question): string {
  const why = reason.replace(/\s*The rules? .+ would allow it\.$/s, '').trim()
  const says =
    toolName === 'Bash' || toolName === 'Wait' ? /^no rule allows (?:this command|it)\.?$/i : /^no rule allows /i
  if (says.test(why)) return ''
  const [first = ''] = why.split(' ')
  return namesProgram(first, input) ? why : why.slice(0, 1).toUpperCase() + why.slice(1)
}

/** Whether a word of a reason is one of the command, and not one that begins sentences. */
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
  const named = others.map(({ toolName, input }: Question) => {
    const { name, about } = toolTitle(toolName, input, cwd)
    // A yes to all is a yes to this, to its end.
    const isCommand = toolName === 'Bash' || toolName === 'Wait'
    const said = isCommand && typeof input['command'] === 'string' ? input['command'] : about
    return everyCharacter(`${name} ${said}`).replaceAll('\n', '⏎')
  })
  return hanging(' ', `${many(others.length, 'more call')} waiting: ${named.join(', ')}`, width).map(style.dim)
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
  return rules.map((rule) => everyCharacterInLine(ruleText(rule), 120)).join(', ')
}

function ruleText({ toolName, ruleContent }: Rules[number]): string {
  return ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`
}

/** Rules that let any program run say so where they are offered (spec R-RULE-9c). */
function freedomLines(rules: Rules, { style }: QuestionOptions, width: number): readonly string[] {
  const found = new Set(rules.flatMap((rule) => runsAnything(ruleText(rule)) ?? []))
  return [...found].flatMap((text) => hanging(' ', everyCharacterInLine(text, 200), width)).map(style.yellow)
}

function modeText(mode: string): string {
  return mode === 'acceptEdits' ? 'accept edits' : `mode ${everyCharacterInLine(mode, 40)}`
}

/** Commands that delete, or write over what cannot be had back. What merely looks like one counts: nothing but the default answer depends on it. */
const harmful = [
  /\b(?:rm|rmdir|unlink|shred|truncate|dd|srm|mkfs[.\w]*|del|Remove-Item)\b/,
  /\bgit\b[^|;&\n]*\bpush\b[^|;&\n]*(?:\s--force|\s-[a-zA-Z]*f|\s--delete|\s--mirror|\s\+\S|\s:\S)/,
  /\bgit\b[^|;&\n]*\b(?:reset\s[^|;&\n]*--hard|clean\b|checkout\s[^|;&\n]*(?:-f|--)|restore\b|branch\s[^|;&\n]*-D|stash\s+(?:drop|clear)|filter-branch)/,
  /\bfind\b[^|;&\n]*\s-(?:delete|exec|execdir|ok)\b/,
  /\s--delete\b/,
  // What was fetched is run unseen, and what runs as root may do anything.
  /\|\s*(?:sudo\s+)?(?:ba|z|da|k|fi)?sh\b/,
  /\bsudo\b/,
  /\b(?:drop|truncate)\s+(?:table|database|schema)\b/i,
]

/** Whether a call may delete, push by force, run what was fetched or write outside the folder: then no key that is pressed by habit says yes (spec R-TERM-31). */
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

/** As a tool reads the path, and where it leads. */
function isOutside(path: string, cwd: string): boolean {
  const called = calledPath(path, cwd)
  const from = relative(cwd, called)
  return from.startsWith('..') || isAbsolute(from) || !isInsideAny(called, [cwd])
}

/** What is redirected, copied or moved to a path that does not lie below the folder. */
function writesOutside(command: string, cwd: string): boolean {
  const targets = [...command.matchAll(/>>?\|?\s*(['"]?)([^\s'"|;&<>]+)\1/g)].map(([, , target = '']) => target)
  const moves = /\b(?:cp|mv|install|ln|rsync|tee|scp)\b/.test(command)
    ? [...command.matchAll(/\s(['"]?)((?:[~/$]|\.\.)[^\s'"|;&<>]*)\1/g)].map(([, , target = '']) => target)
    : []
  return [...targets, ...moves].some(
    (target) => target !== '/dev/null' && (/^[~$]/.test(target) || isOutside(target, cwd)),
  )
}
