import type { FlagFor } from '../flag-kinds.ts'
import { type Flags, onAsks, permissionModes, backgrounds, permissionPrompts, toolProfiles } from '../flags.ts'
import { isToolName } from '../tool-names.ts'
import { choice, filledText, list, single, type Reading } from '../values.ts'

type ToolsFlag =
  | 'trust'
  | 'passEnv'
  | 'list'
  | 'revoke'
  | 'permissionMode'
  | 'allowedTools'
  | 'disallowedTools'
  | 'tools'
  | 'toolProfile'
  | 'addDir'
  | 'dangerouslySkipPermissions'
  | 'allowDangerouslySkipPermissions'
  | 'sandbox'
  | 'onAsk'
  | 'background'
  | 'agents'
  | 'mcpConfig'
  | 'strictMcpConfig'
  | 'pluginDir'
  | 'pluginDirNoMcp'
  | 'permissionPromptTool'
  | 'permissionPrompts'
  | 'agent'

/** Flags about what a run may do, and about trust. */
export const toolsFlags: { readonly [Name in ToolsFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  trust: {
    names: ['--trust'],
    group: 'tools',
    kind: 'switch',
    meaning: 'Trust this folder for this run: its hooks, allow rules and helpers count. halting trust shows them',
  },
  passEnv: {
    names: ['--pass-env'],
    group: 'tools',
    kind: 'list',
    value: 'NAMES',
    read: list,
    meaning: 'Variables with keys of models that commands are given all the same; they are given none of them',
  },
  list: {
    names: ['--list'],
    group: 'program',
    kind: 'switch',
    commands: ['trust'],
    meaning: 'Of trust: the folders that are trusted',
  },
  revoke: {
    names: ['--revoke'],
    group: 'program',
    kind: 'switch',
    commands: ['trust'],
    meaning: 'Of trust: take it back',
  },
  permissionMode: {
    names: ['--permission-mode'],
    group: 'tools',
    kind: 'value',
    value: 'MODE',
    read: choice(permissionModes),
    meaning: permissionModes.join(', '),
  },
  allowedTools: {
    names: ['--allowedTools', '--allowed-tools'],
    group: 'tools',
    kind: 'list',
    value: 'RULES',
    read: list,
    takesMore: isToolName,
    meaning: 'What may run without being asked for: "Edit,Bash(npm test)"',
  },
  disallowedTools: {
    names: ['--disallowedTools', '--disallowed-tools'],
    group: 'tools',
    kind: 'list',
    value: 'RULES',
    read: list,
    takesMore: isToolName,
    meaning: 'What may not run; a bare name takes the tool away',
  },
  tools: {
    names: ['--tools'],
    group: 'tools',
    kind: 'list',
    value: 'NAMES',
    read: toolList,
    takesMore: isToolName,
    meaning: 'The only tools there are; "" for none, default for all',
  },
  toolProfile: {
    names: ['--tool-profile'],
    group: 'tools',
    kind: 'value',
    value: 'NAME',
    read: choice(toolProfiles),
    meaning:
      'Tools that the model is offered: default, codex (apply_patch replaces Edit and Write) or small (six tools, short texts)',
  },
  addDir: {
    names: ['--add-dir'],
    group: 'tools',
    kind: 'list',
    value: 'DIRECTORY',
    read: single,
    meaning: 'One more directory to work in; may be given several times',
  },
  dangerouslySkipPermissions: {
    names: ['--dangerously-skip-permissions'],
    group: 'tools',
    kind: 'switch',
    meaning: 'The same as --permission-mode bypassPermissions',
  },
  allowDangerouslySkipPermissions: {
    names: ['--allow-dangerously-skip-permissions'],
    group: 'tools',
    kind: 'switch',
    meaning: 'The mode bypassPermissions may be set later, by a person or a host; the run does not begin in it',
  },
  sandbox: {
    names: ['--sandbox'],
    group: 'tools',
    kind: 'switch',
    meaning: 'Run commands in a sandbox (bubblewrap, sandbox-exec): only the project is written, no network',
  },
  onAsk: {
    names: ['--on-ask'],
    group: 'tools',
    kind: 'value',
    value: 'WHAT',
    read: choice(onAsks),
    meaning:
      'Of a call that a person must allow: deny it, or defer: end with the question, which halting approve or deny answers',
  },
  background: {
    names: ['--background'],
    group: 'tools',
    kind: 'value',
    value: 'WHAT',
    read: choice(backgrounds),
    meaning: 'Commands that still run when the run would end: wait for them, stop them, or keep them running',
  },
  agents: {
    names: ['--agents'],
    group: 'tools',
    kind: 'value',
    value: 'JSON',
    read: jsonObject,
    meaning: 'Subagents by name: {"reviewer": {"description": "…", "prompt": "…", "tools": ["Read"]}}',
  },
  mcpConfig: {
    names: ['--mcp-config'],
    group: 'tools',
    kind: 'list',
    value: 'FILE|JSON',
    read: single,
    takesMore: isConfig,
    meaning: 'Servers (MCP) from this file, or JSON itself: {"mcpServers": {…}}; may be given several times',
  },
  strictMcpConfig: {
    names: ['--strict-mcp-config'],
    group: 'tools',
    kind: 'switch',
    meaning: 'Only the servers of --mcp-config',
  },
  pluginDir: {
    names: ['--plugin-dir'],
    group: 'tools',
    kind: 'list',
    value: 'FOLDER',
    read: single,
    meaning: 'A plugin: its commands, skills, agents, hooks and servers are there; may be given several times',
  },
  pluginDirNoMcp: {
    names: ['--plugin-dir-no-mcp'],
    group: 'tools',
    kind: 'list',
    value: 'FOLDER',
    read: single,
    meaning: 'The same, without its servers',
  },
  permissionPromptTool: {
    names: ['--permission-prompt-tool'],
    group: 'tools',
    kind: 'value',
    value: 'TOOL',
    read: promptTool,
    needs: 'host',
    meaning: 'Who answers for a person: stdio (the host), or a tool of a server (mcp__server__tool)',
  },
  permissionPrompts: {
    names: ['--permission-prompts'],
    group: 'tools',
    kind: 'value',
    value: 'WHO',
    read: choice(permissionPrompts),
    needs: 'host',
    meaning: 'Who answers questions: host, or none: what would be asked is denied',
  },
  agent: {
    names: ['--agent'],
    group: 'tools',
    kind: 'value',
    value: 'NAME',
    read: filledText,
    meaning: 'The session is this agent: its prompt, its tools, its model',
  },
}

/** An empty list means: no tools. It must not be lost on the way. */
function toolList(given: string): Reading<readonly string[]> {
  return given.trim() === '' ? { value: ['none'] } : list(given)
}

/** Whether it is right in itself is looked at when it is read. */
function jsonObject(given: string): Reading<string> {
  const expected = 'JSON: {"name": {"description": "…", "prompt": "…"}}'
  try {
    const value: unknown = JSON.parse(given)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { value: given } : { expected }
  } catch {
    return { expected }
  }
}

function promptTool(given: string): Reading<string> {
  return given === 'stdio' || /^mcp__.+__.+$/.test(given)
    ? { value: given }
    : { expected: 'stdio, or a tool of a server such as mcp__auth__ask' }
}

/** What looks otherwise is the prompt. */
function isConfig(argument: string): boolean {
  return /^\s*\{.*\}\s*$/s.test(argument) || /^\S+\.json$/.test(argument)
}
