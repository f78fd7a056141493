// Behind a dynamic import, so that a run that takes no secrets out does not load it.
export { redactSecrets, redactedTool } from '@halting/agent'
