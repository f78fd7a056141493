import { nearest } from './nearest.ts'

/** Tool names of halting and of other coding agents. */
const toolNames: readonly string[] = (
  'Read Write Edit Bash Glob Grep Agent TaskCreate TaskUpdate TaskList TaskGet TodoWrite WebFetch WebSearch TaskOutput TaskStop Wait Skill AskUserQuestion ' +
  'EnterPlanMode ExitPlanMode NotebookEdit apply_patch Task MultiEdit LS ToolSearch ListMcpResources ReadMcpResource'
).split(' ')

/** Whether a text looks like `Tool`, `Tool(spec)` or `mcp__server__tool`, or a comma-separated list of these. */
export function isToolName(text: string): boolean {
  return text.split(/,(?![^(]*\))/).every((rule) => {
    const [, name = ''] = /^([A-Za-z]\w*)(?:\(.*\))?$/s.exec(rule.trim()) ?? []
    return isKnown(name)
  })
}

/** A warning about a rule for an unknown tool, since a misspelled name allows or denies nothing. */
export function unknownToolWarning(flag: string, rule: string): string | undefined {
  const name = /^[^(]*/.exec(rule)?.[0] ?? ''
  if (isKnown(name)) return undefined
  const meant = nearest(name, toolNames)
  return `${flag}: unknown tool ${name}${meant === undefined ? '' : ` (did you mean ${meant}?)`}`
}

function isKnown(name: string): boolean {
  return /^mcp__./.test(name) || toolNames.includes(name)
}
