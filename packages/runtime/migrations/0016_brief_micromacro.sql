CREATE TABLE "svc"."memory_pieces" (
	"run_id" uuid NOT NULL,
	"n" integer NOT NULL,
	"text" text NOT NULL,
	"embedding" real[],
	CONSTRAINT "memory_pieces_run_id_n_pk" PRIMARY KEY("run_id","n")
);
--> statement-breakpoint
CREATE TABLE "svc"."memory_turns" (
	"run_id" uuid PRIMARY KEY NOT NULL,
	"session_id" uuid NOT NULL,
	"agent" text NOT NULL,
	"owner" text NOT NULL,
	"client" text,
	"user_id" text NOT NULL,
	"state" text DEFAULT 'queued' NOT NULL,
	"model" text,
	"dimension" integer,
	"error" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp with time zone DEFAULT now() NOT NULL,
	"lease_id" uuid,
	"lease_until" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "svc"."trigger_polls" (
	"trigger_id" text PRIMARY KEY NOT NULL,
	"next_at" timestamp with time zone DEFAULT now() NOT NULL,
	"lease_id" uuid,
	"lease_until" timestamp with time zone,
	"polled_at" timestamp with time zone,
	"tried_at" timestamp with time zone,
	"status" integer,
	"etag" text,
	"last_modified" text,
	"items" integer DEFAULT 0 NOT NULL,
	"seen" integer DEFAULT 0 NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"problem" text
);
--> statement-breakpoint
CREATE TABLE "svc"."trigger_seen" (
	"trigger_id" text NOT NULL,
	"key" text NOT NULL,
	"seen_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "trigger_seen_trigger_id_key_pk" PRIMARY KEY("trigger_id","key")
);
--> statement-breakpoint
DROP INDEX "svc"."rag_ingests_due";--> statement-breakpoint
ALTER TABLE "svc"."rag_collections" ADD COLUMN "rerank_model" text;--> statement-breakpoint
ALTER TABLE "svc"."rag_ingests" ADD COLUMN "is_anew" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "svc"."memory_pieces" ADD CONSTRAINT "memory_pieces_run_id_memory_turns_run_id_fk" FOREIGN KEY ("run_id") REFERENCES "svc"."memory_turns"("run_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "svc"."memory_turns" ADD CONSTRAINT "memory_turns_session_id_sessions_id_fk" FOREIGN KEY ("session_id") REFERENCES "svc"."sessions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "svc"."trigger_polls" ADD CONSTRAINT "trigger_polls_trigger_id_triggers_id_fk" FOREIGN KEY ("trigger_id") REFERENCES "svc"."triggers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "svc"."trigger_seen" ADD CONSTRAINT "trigger_seen_trigger_id_triggers_id_fk" FOREIGN KEY ("trigger_id") REFERENCES "svc"."triggers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "memory_turns_by_owner" ON "svc"."memory_turns" USING btree ("agent","owner","created_at");--> statement-breakpoint
CREATE INDEX "memory_turns_by_session" ON "svc"."memory_turns" USING btree ("session_id");--> statement-breakpoint
CREATE INDEX "memory_turns_by_time" ON "svc"."memory_turns" USING btree ("created_at","run_id");--> statement-breakpoint
CREATE INDEX "memory_turns_due" ON "svc"."memory_turns" USING btree ("due_at") WHERE "svc"."memory_turns"."state" in ('queued', 'embedding');--> statement-breakpoint
CREATE INDEX "trigger_polls_due" ON "svc"."trigger_polls" USING btree ("next_at");--> statement-breakpoint
CREATE INDEX "trigger_seen_recent" ON "svc"."trigger_seen" USING btree ("trigger_id","seen_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "rag_ingests_due" ON "svc"."rag_ingests" USING btree ("is_anew","due_at") WHERE "svc"."rag_ingests"."state" in ('queued', 'embedding');