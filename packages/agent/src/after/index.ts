// `@halting/agent/after`: stages after a run. A separate entry, so that runs without stages load none of it.
export { agentSummaryHook, agentSummaryIn, type AgentSummaryOptions } from './agent-summary.ts'
export { promptSuggestion, suggestionOf } from './prompt-suggestion.ts'
