DROP INDEX "svc"."rag_ingests_due";--> statement-breakpoint
ALTER TABLE "svc"."rag_ingests" ADD COLUMN "is_anew" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "rag_ingests_due" ON "svc"."rag_ingests" USING btree ("is_anew","due_at") WHERE "svc"."rag_ingests"."state" in ('queued', 'embedding');