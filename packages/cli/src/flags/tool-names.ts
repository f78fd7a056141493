import { nearest } from './nearest.ts'

/** Names of tools that coding agents have; those that people know from elsewhere, and our own. */
const toolNames: readonly string[] = (
  'Read Write Edit Bash Glob Grep Agent TaskCreate TaskUpdate TaskList TaskGet TodoWrite WebFetch WebSearch TaskOutput TaskStop Wait Skill AskUserQuestion ' +
  'EnterPlanMode ExitPlanMode NotebookEdit apply_patch Task MultiEdit LS ToolSearch ListMcpResources ReadMcpResource'
).split(' ')

/** Whether a text reads like `Tool`, `Tool(spec)` or `mcp__server__tool`: several of them, parted by commas, too. */
export function isToolName(text: string): boolean {
  return text.split(/,(?![^(]*\))/).every((rule) => {
    const [, name = ''] = /^([A-Za-z]\w*)(?:\(.*\))?$/s.exec(rule.trim()) ?? []
    return isKnown(name)
  })
}

/** A word of warning about a rule for a tool that nobody knows: a typing error there allows or denies nothing. */
export function unknownToolWarning(flag: string, rule: string): string | undefined {
  const name = /^[^(]*/.exec(rule)?.[0] ?? ''
  if (isKnown(name)) return undefined
  const meant = nearest(name, toolNames)
  return `${flag}: unknown tool ${name}${meant === undefined ? '' : ` (did you mean ${meant}?)`}`
}

function isKnown(name: string): boolean {
  return /^mcp__./.test(name) || toolNames.includes(name)
}
