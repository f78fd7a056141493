import { exploreShare } from './share.ts'

exploreShare(0, 4)
