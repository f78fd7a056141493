export { gitHardening as gitTurnedOff, hardenedEnvironment as environmentWithoutRule } from './git-environment.ts'
export { mayShowForeignFiles as leadsElsewhere } from './foreign-content.ts'
export { findRepository, isOwnRepository, type FoundRepository, type GitRepository } from './repository.ts'
export { pathKind, readSmallFile, type PathKind } from './small-file.ts'
