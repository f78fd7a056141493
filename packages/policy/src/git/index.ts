export { gitHardening, hardenedEnvironment } from './git-environment.ts'
export { mayShowForeignFiles } from './foreign-content.ts'
export { findRepository, isOwnRepository, type FoundRepository, type GitRepository } from './repository.ts'
export { pathKind, readSmallFile, type PathKind } from './small-file.ts'
