CREATE TABLE "svc"."rag_collections" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"description" text,
	"chunk_size" integer NOT NULL,
	"chunk_overlap" integer NOT NULL,
	"chunk_markdown" boolean NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "svc"."rag_documents" (
	"collection_id" uuid NOT NULL,
	"id" text NOT NULL,
	"version" integer NOT NULL,
	"title" text,
	"metadata" jsonb NOT NULL,
	"format" text NOT NULL,
	"text" text NOT NULL,
	"pages" jsonb,
	"content_hash" text NOT NULL,
	"characters" integer NOT NULL,
	"added_by" text NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "rag_documents_collection_id_id_pk" PRIMARY KEY("collection_id","id")
);
--> statement-breakpoint
CREATE TABLE "svc"."rag_indexes" (
	"id" uuid PRIMARY KEY NOT NULL,
	"collection_id" uuid NOT NULL,
	"state" text NOT NULL,
	"model" text NOT NULL,
	"dimension" integer NOT NULL,
	"is_dimension_asked" boolean NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "svc"."rag_ingests" (
	"index_id" uuid NOT NULL,
	"collection_id" uuid NOT NULL,
	"document_id" text NOT NULL,
	"version" integer NOT NULL,
	"ready_version" integer,
	"state" text NOT NULL,
	"error" text,
	"attempts" integer DEFAULT 0 NOT NULL,
	"chunks" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp with time zone DEFAULT now() NOT NULL,
	"lease_id" uuid,
	"lease_until" timestamp with time zone,
	"ready_at" timestamp with time zone,
	CONSTRAINT "rag_ingests_index_id_document_id_pk" PRIMARY KEY("index_id","document_id")
);
--> statement-breakpoint
CREATE TABLE "svc"."rag_vectors" (
	"key" text PRIMARY KEY NOT NULL,
	"embedding" real[] NOT NULL,
	"used_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "svc"."rag_documents" ADD CONSTRAINT "rag_documents_collection_id_rag_collections_id_fk" FOREIGN KEY ("collection_id") REFERENCES "svc"."rag_collections"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "svc"."rag_indexes" ADD CONSTRAINT "rag_indexes_collection_id_rag_collections_id_fk" FOREIGN KEY ("collection_id") REFERENCES "svc"."rag_collections"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "svc"."rag_ingests" ADD CONSTRAINT "rag_ingests_index_id_rag_indexes_id_fk" FOREIGN KEY ("index_id") REFERENCES "svc"."rag_indexes"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "svc"."rag_ingests" ADD CONSTRAINT "rag_ingests_document" FOREIGN KEY ("collection_id","document_id") REFERENCES "svc"."rag_documents"("collection_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "rag_collections_by_name" ON "svc"."rag_collections" USING btree ("name");--> statement-breakpoint
CREATE UNIQUE INDEX "rag_indexes_by_state" ON "svc"."rag_indexes" USING btree ("collection_id","state");--> statement-breakpoint
CREATE INDEX "rag_ingests_by_document" ON "svc"."rag_ingests" USING btree ("collection_id","document_id");--> statement-breakpoint
CREATE INDEX "rag_ingests_due" ON "svc"."rag_ingests" USING btree ("due_at") WHERE "svc"."rag_ingests"."state" in ('queued', 'embedding');--> statement-breakpoint
CREATE INDEX "rag_vectors_by_use" ON "svc"."rag_vectors" USING btree ("used_at");