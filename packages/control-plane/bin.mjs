#!/usr/bin/env node
import { runPlane } from './dist/index.mjs';

process.exitCode = await runPlane(process.env);
