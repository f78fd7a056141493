/** Folders whose texts for models are all in texts files. */
export const folders: readonly string[] = [
  ...['after', 'agents', 'context', 'goals', 'hooks', 'instructions', 'mcp', 'media', 'tools', 'web'].map(
    (name) => `packages/agent/src/${name}`,
  ),
  ...[
    'context',
    'goals',
    'hooks',
    'limits',
    'loop',
    'model',
    'permissions',
    'request',
    'run',
    'tool-calls',
    'tools',
  ].map((name) => `packages/core/src/${name}`),
  'packages/policy/src/permissions',
]

/** Files of these folders with other prose, and why no model reads it as it is. */
export const exceptions: Readonly<Record<string, readonly string[]>> = {
  'commands, names and scripts, not sentences': [
    ...['composing-commands', 'evidence-rules', 'run-check', 'unusable-command'].map(inAgent('goals')),
    ...['pdf-text'].map(inAgent('media')),
    ...['path-aliases', 'protected', 'trial'].map(inPermissions),
  ],
  'names of places, parts of the texts of goals': ['definition-state', 'goal-files'].map(inAgent('goals')),
  'what a command does, parts of the texts for denied calls': [
    'command-verdict',
    'command-rules',
    'read-confinement',
    'runs-anything',
  ].map(inPermissions),
  'for people: settings, files and servers that are not used': [
    ...['prompt-suggestion'].map(inAgent('after')),
    ...['agent-fields', 'agent-hooks', 'agent-limits', 'define-agent', 'read-agents'].map(inAgent('agents')),
    ...['read-definitions'].map(inAgent('agents')),
    ...['hook-answer', 'call-hooks', 'callback-hooks', 'run-hook', 'settings', 'status-line'].map(inAgent('hooks')),
    ...['agents-file', 'briefing', 'prompt-files', 'expand-prompt', 'frontmatter'].map(inAgent('instructions')),
    ...['instruction-files', 'mentions', 'expand-prompt-file'].map(inAgent('instructions')),
    ...['config', 'connection', 'elicitations', 'prompts', 'server-list', 'session-servers'].map(inAgent('mcp')),
    ...['repair/offered-lists', 'schema/shown-schema', 'schema/valid-schema', 'sign-in/loopback'].map(inAgent('mcp')),
    ...['path-pattern', 'rule'].map(inPermissions),
  ],
  'for people: how a run goes and ends': [
    ...['cancellation-source'].map(inCore('hooks')),
    ...['after-reply', 'compaction', 'recover'].map(inCore('loop')),
    ...['model-error'].map(inCore('model')),
    ...['ask-model', 'charge'].map(inCore('request')),
    ...['tasks'].map(inCore('run')),
  ],
  'for programmers': [
    ...['run-goals'].map(inCore('goals')),
    ...['call-guard', 'check-guards', 'combinators', 'run-budget'].map(inCore('limits')),
    ...['stop-hooks'].map(inCore('hooks')),
    ...['agent-tool', 'check-options', 'check-tool', 'define-tool', 'large-results'].map(inCore('tools')),
    ...['output-schema', 'standard-schema'].map(inCore('tools')),
    ...['web-search'].map(inCore('model')),
    ...['answer-shape', 'check-change', 'check-settings', 'cancellation-points'].map(inCore('run')),
    ...['permission-update'].map(inCore('permissions')),
    ...['question', 'run-hooks', 'step-with-questions'].map(inCore('request')),
  ],
}

function inAgent(folder: string): (name: string) => string {
  return (name) => `packages/agent/src/${folder}/${name}.ts`
}

function inCore(folder: string): (name: string) => string {
  return (name) => `packages/core/src/${folder}/${name}.ts`
}

function inPermissions(name: string): string {
  return `packages/policy/src/permissions/${name}.ts`
}
