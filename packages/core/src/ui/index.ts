// `@halting/core/ui`: runs for web frontends.

export { approvalsOf, modelMessagesOf, type UIMessageLike } from './ui-messages.ts'
