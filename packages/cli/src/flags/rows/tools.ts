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

/** Flags about what a run is allowed to do, and about trust. */
export const toolsFlags: { readonly [Name in ToolsFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  trust: {
    names: ['--trust'],
    topic: 'tools',
    kind: 'switch',
    meaning:
      'Trust this folder for this run: its hooks, allow rules and helper commands apply. Review them with halting trust',
  },
  passEnv: {
    names: ['--pass-env'],
    topic: 'tools',
    kind: 'list',
    value: 'NAMES',
    read: list,
    meaning: 'Let commands see these API-key variables (hidden by default)',
  },
  list: {
    names: ['--list'],
    topic: 'commands',
    kind: 'switch',
    commands: ['trust'],
    meaning: 'List trusted folders',
  },
  revoke: {
    names: ['--revoke'],
    topic: 'commands',
    kind: 'switch',
    commands: ['trust'],
    meaning: 'Stop trusting the folder',
  },
  permissionMode: {
    names: ['--permission-mode'],
    topic: 'tools',
    kind: 'value',
    value: 'MODE',
    read: choice(permissionModes),
    meaning: 'Set the permission mode: default (asks before changes), acceptEdits, plan, dontAsk or bypassPermissions',
  },
  allowedTools: {
    names: ['--allowedTools', '--allowed-tools'],
    topic: 'tools',
    kind: 'list',
    value: 'RULES',
    read: list,
    takesMore: isToolName,
    meaning: 'Allow these tool calls without asking: "Edit,Bash(npm test)"',
  },
  disallowedTools: {
    names: ['--disallowedTools', '--disallowed-tools'],
    topic: 'tools',
    kind: 'list',
    value: 'RULES',
    read: list,
    takesMore: isToolName,
    meaning: 'Deny these tool calls; a bare tool name removes the tool',
  },
  tools: {
    names: ['--tools'],
    topic: 'tools',
    kind: 'list',
    value: 'NAMES',
    read: toolList,
    takesMore: isToolName,
    meaning: 'Offer only these tools; "" for none, default for all',
  },
  toolProfile: {
    names: ['--tool-profile'],
    topic: 'tools',
    kind: 'value',
    value: 'NAME',
    read: choice(toolProfiles),
    meaning:
      'Choose the tools to offer: default, codex (apply_patch instead of Edit and Write) or small (six tools, short texts)',
  },
  addDir: {
    names: ['--add-dir'],
    topic: 'tools',
    kind: 'list',
    value: 'DIRECTORY',
    read: single,
    meaning: 'Add a directory to work in. Repeat the flag for more',
  },
  dangerouslySkipPermissions: {
    names: ['--dangerously-skip-permissions'],
    topic: 'tools',
    kind: 'switch',
    meaning: 'Allow everything: the same as --permission-mode bypassPermissions',
  },
  allowDangerouslySkipPermissions: {
    names: ['--allow-dangerously-skip-permissions'],
    topic: 'tools',
    kind: 'switch',
    meaning: 'Let a person or a host switch to bypassPermissions later; the run does not start in it',
  },
  sandbox: {
    names: ['--sandbox'],
    topic: 'tools',
    kind: 'switch',
    meaning: 'Run commands in a sandbox (bubblewrap, sandbox-exec) that can write only the project and has no network',
  },
  onAsk: {
    names: ['--on-ask'],
    topic: 'tools',
    kind: 'value',
    value: 'WHAT',
    read: choice(onAsks),
    meaning:
      'When a call needs approval: deny it, or defer it (end the run with a question that halting approve or deny answers)',
  },
  background: {
    names: ['--background'],
    topic: 'tools',
    kind: 'value',
    value: 'WHAT',
    read: choice(backgrounds),
    meaning: 'When a run ends while commands are running: wait for them, stop them, or keep them running',
  },
  agents: {
    names: ['--agents'],
    topic: 'tools',
    kind: 'value',
    value: 'JSON',
    read: jsonObject,
    meaning: 'Define subagents by name: {"reviewer": {"description": "…", "prompt": "…", "tools": ["Read"]}}',
  },
  mcpConfig: {
    names: ['--mcp-config'],
    topic: 'tools',
    kind: 'list',
    value: 'FILE|JSON',
    read: single,
    takesMore: isConfig,
    meaning: 'Load MCP servers from this file, or from JSON given here: {"mcpServers": {…}}. Repeat the flag for more',
  },
  strictMcpConfig: {
    names: ['--strict-mcp-config'],
    topic: 'tools',
    kind: 'switch',
    meaning: 'Use only the servers of --mcp-config',
  },
  pluginDir: {
    names: ['--plugin-dir'],
    topic: 'tools',
    kind: 'list',
    value: 'FOLDER',
    read: single,
    meaning: 'Load a plugin with its commands, skills, agents, hooks and servers. Repeat the flag for more',
  },
  pluginDirNoMcp: {
    names: ['--plugin-dir-no-mcp'],
    topic: 'tools',
    kind: 'list',
    value: 'FOLDER',
    read: single,
    meaning: 'Load a plugin without its servers',
  },
  permissionPromptTool: {
    names: ['--permission-prompt-tool'],
    topic: 'hosts',
    kind: 'value',
    value: 'TOOL',
    read: promptTool,
    needs: 'host',
    meaning: 'Send permission requests to stdio (the host), or to a tool of an MCP server (mcp__server__tool)',
  },
  permissionPrompts: {
    names: ['--permission-prompts'],
    topic: 'hosts',
    kind: 'value',
    value: 'WHO',
    read: choice(permissionPrompts),
    needs: 'host',
    meaning: 'Send permission requests to the host, or deny them (none)',
  },
  agent: {
    names: ['--agent'],
    topic: 'tools',
    kind: 'value',
    value: 'NAME',
    read: filledText,
    meaning: 'Run the session as this agent, with its prompt, tools and model',
  },
}

/** An empty list means no tools, so it must not become an absent value. */
function toolList(given: string): Reading<readonly string[]> {
  return given.trim() === '' ? { value: ['none'] } : list(given)
}

/** Checks only that it is a JSON object; its content is validated later. */
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

/** Anything else is the prompt. */
function isConfig(argument: string): boolean {
  return /^\s*\{.*\}\s*$/s.test(argument) || /^\S+\.json$/.test(argument)
}
