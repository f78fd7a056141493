export { fromAiSdk } from './from-ai-sdk.ts'
export type { AiSdkOptions } from './from-ai-sdk.ts'
export type { AiSdkModel, AiSdkPartReader, AiSdkStream } from './language-model.ts'
