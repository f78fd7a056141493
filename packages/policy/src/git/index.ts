export { gitTurnedOff, environmentWithoutRule } from './git-environment.ts'
export { leadsElsewhere } from './leads-elsewhere.ts'
export { findRepository, isOwnRepository, type FoundRepository, type GitRepository } from './repository.ts'
export { pathKind, readSmallFile, type PathKind } from './small-file.ts'
