import {
  efforts,
  errorPolicies,
  type FlagName,
  type Flags,
  inputFormats,
  onAsks,
  outputFormats,
  permissionModes,
} from './flags.ts'
import type { FlagFor } from './flag-kinds.ts'
import { backgroundFlags } from './background-flags.ts'
import { fileFlags } from './file-flags.ts'
import { afterFlags } from './after-flags.ts'
import { agentFlags } from './agent-flags.ts'
import { clusterFlags } from './cluster-flags.ts'
import { hostFlags } from './host-flags.ts'
import { pluginFlags } from './plugin-flags.ts'
import { mcpFlags } from './mcp-flags.ts'
import { terminalFlags } from './terminal-flags.ts'
import { trustFlags } from './trust-flags.ts'
import { programFlags } from './program-table.ts'
import { isToolName } from './tool-names.ts'
import {
  autoCompact,
  choice,
  dollars,
  duration,
  filledText,
  finishReasons,
  list,
  type Reading,
  single,
  text,
  thinkingTokens,
  tokens,
  uuid,
  wholeNumber,
  windowTokens,
} from './values.ts'

/** The one table of flags: parsing, help and the message about a typing error follow from it. A flag without a row does not compile. */
export const flagTable: { readonly [Name in FlagName]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  print: { names: ['-p', '--print'], group: 'output', kind: 'switch', meaning: 'Answer one prompt and leave' },
  outputFormat: {
    names: ['--output-format'],
    group: 'output',
    kind: 'value',
    value: 'FORMAT',
    read: choice(outputFormats),
    meaning:
      'text (the answer), json (the result; with --verbose an array of every message), or stream-json (every message, a line each; needs --verbose)',
  },
  inputFormat: {
    names: ['--input-format'],
    group: 'output',
    kind: 'value',
    value: 'FORMAT',
    read: choice(inputFormats),
    meaning:
      'What comes on stdin: text, which joins the prompt, or stream-json: messages and requests of a host, a line each',
  },
  verbose: { names: ['--verbose'], group: 'output', kind: 'switch', meaning: 'With text: tell each step on stderr' },
  quiet: {
    names: ['--quiet'],
    group: 'output',
    kind: 'switch',
    meaning: 'With text on a terminal: no live line and no closing line; the answer when it is complete',
  },
  includePartialMessages: {
    names: ['--include-partial-messages'],
    group: 'output',
    kind: 'switch',
    meaning: 'With stream-json: also the events of a reply that is still coming',
  },
  includeHookEvents: {
    names: ['--include-hook-events'],
    group: 'output',
    kind: 'switch',
    meaning: 'With stream-json: also when hooks start and end',
  },
  jsonSchema: {
    names: ['--json-schema'],
    group: 'output',
    kind: 'value',
    value: 'SCHEMA',
    read: filledText,
    meaning: 'The answer must be JSON that fits this JSON Schema (the schema, or a file that holds it)',
  },

  model: {
    names: ['--model'],
    group: 'model',
    kind: 'value',
    value: 'NAME',
    read: filledText,
    meaning: 'The model to ask, such as claude-sonnet-5-5, gpt-5, ollama/qwen3 or openai-compatible/NAME',
  },
  fallbackModel: {
    names: ['--fallback-model'],
    group: 'model',
    kind: 'value',
    value: 'NAME',
    read: filledText,
    meaning: 'Takes over when the model is overloaded three times in a row',
  },
  script: {
    names: ['--script'],
    group: 'model',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    meaning: 'A scripted model instead of a real one: answers from a file, over HTTP on this machine, without a key',
  },
  settings: {
    names: ['--settings'],
    group: 'model',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    meaning: 'Settings from this file, or JSON itself; they go before those of the project and your own',
  },
  betas: {
    names: ['--betas'],
    group: 'model',
    kind: 'list',
    value: 'NAMES',
    read: list,
    takesMore: isBetaName,
    meaning: 'Beta features of the Messages API to ask for',
  },
  maxThinkingTokens: {
    names: ['--max-thinking-tokens'],
    group: 'model',
    kind: 'value',
    value: 'N',
    read: thinkingTokens,
    meaning: 'Tokens of a reply that the model may think with; 0 for none',
  },
  effort: {
    names: ['--effort'],
    group: 'model',
    kind: 'value',
    value: 'LEVEL',
    read: choice(efforts),
    meaning: 'How much the model is to think: low, medium, high, xhigh or max',
  },
  systemPrompt: {
    names: ['--system-prompt'],
    group: 'model',
    kind: 'value',
    value: 'TEXT',
    read: text,
    meaning: 'In place of our system prompt',
  },
  systemPromptFile: {
    names: ['--system-prompt-file'],
    group: 'model',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    meaning: 'The same, from a file',
  },
  appendSystemPrompt: {
    names: ['--append-system-prompt'],
    group: 'model',
    kind: 'value',
    value: 'TEXT',
    read: text,
    meaning: 'After the system prompt',
  },
  appendSystemPromptFile: {
    names: ['--append-system-prompt-file'],
    group: 'model',
    kind: 'value',
    value: 'FILE',
    read: filledText,
    meaning: 'The same, from a file',
  },
  resume: {
    names: ['-r', '--resume'],
    group: 'sessions',
    kind: 'value',
    value: '[ID]',
    read: filledText,
    without: '',
    meaning: 'Go on with a session; without an id: which there are',
  },
  continue: {
    names: ['-c', '--continue'],
    group: 'sessions',
    kind: 'switch',
    meaning: 'Go on with the newest session of this folder',
  },
  forkSession: {
    names: ['--fork-session'],
    group: 'sessions',
    kind: 'switch',
    meaning: 'With --resume or --continue: in a copy with an id of its own',
  },
  sessionId: {
    names: ['--session-id'],
    group: 'sessions',
    kind: 'value',
    value: 'UUID',
    read: uuid,
    meaning: 'The id of the new session',
  },
  noSessionPersistence: {
    names: ['--no-session-persistence'],
    group: 'sessions',
    kind: 'switch',
    meaning: 'Keep no record of the session, which then cannot be resumed',
  },

  ...fileFlags,
  ...trustFlags,

  maxTurns: {
    names: ['--max-turns'],
    group: 'limits',
    kind: 'value',
    value: 'N',
    read: wholeNumber,
    meaning: 'Requests that count, with the tools they ask for; 1000 unless said otherwise',
  },
  maxBudgetUsd: {
    names: ['--max-budget-usd'],
    group: 'limits',
    kind: 'value',
    value: 'X',
    read: dollars,
    meaning: 'US dollars; reserved before each request, so never overshot',
  },
  maxTokens: {
    names: ['--max-tokens'],
    group: 'limits',
    kind: 'value',
    value: 'N',
    read: tokens,
    meaning: 'Tokens of the whole run, input and output; reserved like dollars',
  },
  maxDuration: {
    names: ['--max-duration'],
    group: 'limits',
    kind: 'value',
    value: 'TIME',
    read: duration,
    meaning: 'Time, such as 90s or 10m; what goes on then is ended',
  },
  tokenBudget: {
    names: ['--token-budget'],
    group: 'limits',
    kind: 'value',
    value: 'N',
    read: tokens,
    meaning: 'Output tokens to use up: an answer below 90 % of it is sent back for more',
  },
  finishReasons: {
    names: ['--finish-reasons'],
    group: 'limits',
    kind: 'list',
    value: 'LIST',
    read: finishReasons,
    meaning: 'Stop when a reply ended for one of these reasons, such as end_turn,stop_sequence',
  },
  wrapUp: {
    names: ['--wrap-up'],
    group: 'limits',
    kind: 'switch',
    meaning: 'At a limit, ask for a last answer; its cost is held back from the start',
  },
  errorPolicy: {
    names: ['--error-policy'],
    group: 'limits',
    kind: 'value',
    value: 'POLICY',
    read: choice(errorPolicies),
    meaning: 'Whose errors end the run: continue (none), tools, hooks, or all',
  },

  autocompact: {
    names: ['--autocompact'],
    group: 'context',
    kind: 'value',
    value: 'WHEN',
    read: autoCompact,
    meaning:
      'When a conversation is made shorter: auto, off, a share of the window (80%), or tokens (150k). With off a run ends where the window does',
  },
  compactModel: {
    names: ['--compact-model'],
    group: 'context',
    kind: 'value',
    value: 'NAME',
    read: filledText,
    meaning: 'Writes the summaries, in place of the model: a cheaper one',
  },
  contextWindow: {
    names: ['--context-window'],
    group: 'context',
    kind: 'value',
    value: 'N',
    read: windowTokens,
    meaning: 'Tokens that fit into a request, in place of what is known of the model',
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

  ...backgroundFlags,
  ...terminalFlags,
  ...agentFlags,
  ...afterFlags,
  ...mcpFlags,
  ...pluginFlags,
  ...hostFlags,
  ...clusterFlags,
  ...programFlags,
}

/** Betas are dated: what looks otherwise is the prompt. */
function isBetaName(argument: string): boolean {
  return /^[a-z\d-]+-\d{4}-\d{2}-\d{2}$/.test(argument)
}

/** An empty list means: no tools. It must not be lost on the way. */
function toolList(given: string): Reading<readonly string[]> {
  return given.trim() === '' ? { value: ['none'] } : list(given)
}
