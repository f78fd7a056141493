export { parseScript, parseScriptText } from './parse-script.ts'
export { readScript, scriptedModel } from './server.ts'
export type { ScriptedModel, ScriptedModelOptions } from './server.ts'
export type {
  Script,
  ScriptedBlock,
  ScriptedError,
  ScriptedFault,
  ScriptedMessage,
  ScriptedOutage,
  ScriptedReply,
} from './script.ts'
export { startScriptedServer } from './server.ts'
export type { ScriptedServer, ScriptedServerOptions, SeenRequest } from './server.ts'
